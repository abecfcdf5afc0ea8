"""Which deployments there are, and what Ray is asked for each."""

import pytest
from pydantic import ValidationError
from ray.serve.config import AutoscalingConfig

from flashbench.serve.layout import cpus_needed, deployments, gpus_needed, ingress_options, replica_options
from flashbench.settings import ServeSettings

ALL = ("vanilla", "eagle", "specflash")


def test_isolated_gives_every_method_a_deployment_of_its_own():
    assert deployments(ServeSettings()) == {"vanilla": ("vanilla",), "eagle": ("eagle",), "specflash": ("specflash",)}


def test_shared_puts_all_drafts_on_one_target():
    assert deployments(ServeSettings(layout="shared")) == {"shared": ALL}


@pytest.mark.parametrize(("serve", "replicas"), [
    ({"replicas": 2}, 3 * 2), ({"layout": "shared", "replicas": 2}, 2),
    ({"max_replicas": 3}, 3 * 3), ({"layout": "shared", "min_replicas": 2, "max_replicas": 4}, 4)])
def test_ray_is_asked_for_room_for_as_many_replicas_as_there_may_be(serve, replicas):
    serve = ServeSettings(cpus_per_replica=1.5, gpus_per_replica=0.25, **serve)
    assert cpus_needed(serve) == pytest.approx(0.1 + replicas * 1.5)
    assert gpus_needed(serve) == pytest.approx(replicas * 0.25)


def test_autoscaling_reaches_ray():
    options = replica_options(ServeSettings(min_replicas=2, max_replicas=5, target_ongoing=1.5, look_back_s=7,
                                            upscale_delay_s=3, downscale_delay_s=4))
    assert "num_replicas" not in options
    scaling = AutoscalingConfig(**options["autoscaling_config"])
    assert (scaling.min_replicas, scaling.max_replicas, scaling.target_ongoing_requests) == (2, 5, 1.5)
    assert (scaling.look_back_period_s, scaling.upscale_delay_s, scaling.downscale_delay_s) == (7, 3, 4)
    assert replica_options(ServeSettings(replicas=2))["num_replicas"] == 2


def test_the_ingress_outlives_the_answers_that_go_through_it():
    serve = ServeSettings(drain_s=5)
    assert replica_options(serve)["graceful_shutdown_timeout_s"] == 5
    assert ingress_options(serve)["graceful_shutdown_timeout_s"] > 5


@pytest.mark.parametrize(("wrong", "told"), [
    ({"min_replicas": 2}, "`min_replicas` needs `max_replicas`"),
    ({"replicas": 2, "max_replicas": 3}, "not both"),
    ({"min_replicas": 4, "max_replicas": 3}, "max_replicas 3 is below min_replicas 4"),
])
def test_a_number_of_replicas_that_means_nothing_is_refused(wrong, told):
    with pytest.raises(ValidationError, match=told):
        ServeSettings(**wrong)


def test_settings_that_were_saved_can_be_read_again():
    for serve in (ServeSettings(), ServeSettings(max_replicas=2), ServeSettings(min_replicas=2, max_replicas=2)):
        assert ServeSettings.model_validate(serve.model_dump()) == serve
