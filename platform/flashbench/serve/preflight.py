"""What can be told to be wrong before Ray starts. It knows the settings and loads no weights."""

import errno
import socket

from flashbench.drafts import weights_of
from flashbench.serve.ab.route import check_served, full_weights
from flashbench.settings import ServeSettings, Settings
from specflash.drafts import DRAFTS
from specflash.drafts.store import check_settings, read_config
from specflash.errors import UserError
from specflash.targets import target_fingerprint


def check_methods(settings: Settings) -> None:
    """Every method is known, named once, and trained for this target where it needs training."""
    methods = settings.serve.methods
    if not methods:
        raise UserError(f"serve.methods is empty; name at least one of: {', '.join(DRAFTS)}")
    for method in methods:
        if methods.count(method) > 1:
            raise UserError(f"serve.methods names `{method}` twice")
        lender = weights_of(method)
        if lender:
            _check_draft(settings, method, lender)
    check_ab(settings.serve)


def check_ab(serve: ServeSettings) -> None:
    """Weights and shadow name served methods."""
    full_weights(serve.ab.weights, serve.methods)
    if serve.ab.shadow.share:
        check_served(serve.ab.shadow.method, serve.methods, "serve.ab.shadow.method")


def _check_draft(settings: Settings, method: str, lender: str) -> None:
    folder, target = settings.draft_folder(lender), settings.target
    verifier = read_config(folder)["speculators_config"]["verifier"]
    if verifier["fingerprint"] != target_fingerprint(target.name, target.weights):
        raise UserError(f"the draft in {folder} was trained for other weights (`{verifier['name_or_path']}`) than "
                        f"this `{target.name}`; train it for this one, or leave `{method}` out of serve.methods")
    check_settings(folder, settings.drafts.get(method, {}), method)


def free_port(serve: ServeSettings) -> int:
    """The port to listen on: the one asked for, or a free one for 0. Raises UserError if it is taken."""
    with socket.socket(_family(serve.host), socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((serve.host, serve.port))
        except OSError as error:
            raise UserError(_explain(serve, error)) from None
        return probe.getsockname()[1]


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _explain(serve: ServeSettings, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (f"port {serve.port} on {serve.host} is in use; stop what listens there, or choose another "
                f"with serve.port={serve.port + 1} (0 takes a free one)")
    return f"cannot listen on {serve.host} port {serve.port}: {error.strerror or error}"
