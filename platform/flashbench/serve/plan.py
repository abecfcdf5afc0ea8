"""What will run and what it will hold, told before anything loads. It reads the headers of weights, not the weights."""

import psutil
import torch

from flashbench.console import note, table
from flashbench.drafts import weights_of
from flashbench.serve.layout import INGRESS_CPUS, cpus_needed, deployments, gpus_needed
from flashbench.settings import Settings
from specflash.errors import UserError
from specflash.targets import DTYPES, weights_bytes
from specflash.targets.folder import parameters_in

COLUMNS = ("deployment", "methods", "replicas", "CPUs", "GPUs", "target", "drafts", "weights together")


def show_plan(settings: Settings) -> None:
    """Every deployment with its processes, CPUs, GPUs, and the bytes of the weights each replica will hold."""
    serve, target = settings.serve, target_bytes(settings)
    rows = [("ingress", "", 1, f"{INGRESS_CPUS:g}", "0", "", "", "")]
    for name, methods in deployments(serve).items():
        drafts = sum(draft_bytes(settings, method) for method in methods)
        rows.append((name, ", ".join(methods), _replicas(settings), f"{serve.cpus_per_replica:g}",
                     f"{serve.gpus_per_replica:g}", megabytes(target), megabytes(drafts),
                     megabytes(serve.most_replicas * (target + drafts))))
    rows.append(("together", "", 1 + len(deployments(serve)) * serve.most_replicas, f"{cpus_needed(serve):g}",
                 f"{gpus_needed(serve):g}", "", "", megabytes(all_bytes(settings))))
    table(f"serving {settings.target.name} in {serve.dtype}, layout {serve.layout}", COLUMNS, rows)
    note(f"beside weights every process holds its libraries (this one {megabytes(psutil.Process().memory_info().rss)} "
         "by now) and every replica the cache of its request; while it loads, it may hold its weights twice")


def check_memory(settings: Settings) -> None:
    """Raises UserError where the weights alone are more than this machine has free."""
    wanted, (there, who) = all_bytes(settings), _memory(settings.target.device)
    if wanted > there:
        serve = settings.serve
        sharing = "" if serve.layout == "shared" else (", or serve.layout=shared, which loads the target once for all "
                                                       "methods")
        raise UserError(f"the weights of {len(deployments(serve)) * serve.most_replicas} replicas are "
                        f"{megabytes(wanted)} and {who} {megabytes(there)} of memory free: ask for fewer "
                        f"serve.methods or replicas, or set serve.dtype=bfloat16{sharing}")


def all_bytes(settings: Settings) -> int:
    """Of the weights of all replicas, if there are as many as there may be."""
    drafts = sum(draft_bytes(settings, method) for method in settings.serve.methods)
    targets = len(deployments(settings.serve)) * target_bytes(settings)
    return settings.serve.most_replicas * (targets + drafts)


def target_bytes(settings: Settings) -> int:
    return weights_bytes(settings.target.name, settings.target.weights, settings.serve.dtype)


def draft_bytes(settings: Settings, method: str) -> int:
    """0 for a method without weights."""
    lender = weights_of(method)
    return parameters_in(settings.draft_folder(lender)) * DTYPES[settings.serve.dtype].itemsize if lender else 0


def megabytes(count: int) -> str:
    return f"{count / 1e6:.0f} MB" if count < 1e10 else f"{count / 1e9:.0f} GB"


def _replicas(settings: Settings) -> str:
    serve = settings.serve
    return f"{serve.fewest_replicas} … {serve.max_replicas}" if serve.max_replicas else f"{serve.replicas}"


def _memory(device: str) -> tuple[int, str]:
    """Bytes that are free where the weights will lie, and who has them."""
    gpus = torch.cuda.device_count() if device != "cpu" and torch.cuda.is_available() else 0
    if not gpus:
        return psutil.virtual_memory().available, "this machine has"
    return sum(torch.cuda.mem_get_info(gpu)[0] for gpu in range(gpus)), "its GPUs have"
