"""`run(…, set=…)`: values of the platform as Python has them."""

import pytest

import hopcast


def ring(comm):
    """Each rank sends to the next one."""
    comm.sendrecv(bytes(8192), (comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)


def run(planned):
    return hopcast.run("nsim-torus", ring, 64, model="packet", ppn=1, set={"faults.planned": planned})


def test_planned_faults_are_a_list_of_dicts():
    planned = {"link": "(0,0,0) -> (0,0,1)", "fails_at": "0 us", "returns_at": "500 us"}
    failures = run([planned]).summary["faults"]
    assert failures["links_failed"] == 1
    assert (
        run([planned]).outcome_hash
        == run('[{link="(0,0,0) -> (0,0,1)", fails_at="0 us", returns_at="500 us"}]').outcome_hash
    )


def test_texts_inside_are_quoted():
    with pytest.raises(hopcast.InputError, match='no such "router"'):
        run([{"router": 'no such "router"', "fails_at": "1 us"}])
