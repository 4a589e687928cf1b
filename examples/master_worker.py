"""Master and workers: tasks go to whoever asks first, so the schedule depends on the network.

    python examples/master_worker.py
    hopcast run fat-tree -n 17 --ppn 1 examples/master_worker.py 200

Rank 0 holds the tasks. A worker that has nothing to do sends its last result, and gets the next task with
its input. Inputs and results compete for the master's network interface and for the links around it: who
asks first, and so who does what, is decided by congestion.
"""

import sys

import hopcast

TASKS = 100
INPUT_BYTES = 4_000_000
RESULT_BYTES = 400_000
WORK_S = (1e-3, 3e-3, 2e-3, 5e-3, 4e-3)
"""Times of tasks, one after the other, over and over [s]."""
WORK, STOP = 1, 2


def main(comm):
    """Gives at rank 0 the worker of each task."""
    return farm(comm, int(sys.argv[1]) if len(sys.argv) > 1 else TASKS)


def farm(comm, tasks, input_bytes=INPUT_BYTES, result_bytes=RESULT_BYTES):
    """Does `tasks` tasks; gives the worker of each task at rank 0, its tasks at a worker."""
    if comm.Get_size() < 2:
        raise ValueError("master and workers are two ranks at least")
    if comm.Get_rank() == 0:
        return master(comm, tasks, input_bytes)
    return worker(comm, result_bytes)


def master(comm, tasks, input_bytes):
    """Deals the tasks out."""
    status = hopcast.Status()
    worker_of = [None] * tasks
    sending = []
    dealt = 0
    working = comm.Get_size() - 1
    while working:
        comm.recv(source=hopcast.ANY_SOURCE, status=status)
        asking = status.Get_source()
        if dealt < tasks:
            worker_of[dealt] = asking
            sending.append(comm.isend(dealt, dest=asking, tag=WORK, nbytes=input_bytes))
            dealt += 1
        else:
            comm.send(dest=asking, tag=STOP)
            working -= 1
    hopcast.Request.waitall(sending)
    return worker_of


def worker(comm, result_bytes):
    """Asks for tasks until there are none."""
    status = hopcast.Status()
    done = []
    comm.send(nbytes=0, dest=0)
    while True:
        task = comm.recv(source=0, status=status)
        if status.Get_tag() == STOP:
            return done
        comm.compute(seconds=WORK_S[task % len(WORK_S)])
        done.append(task)
        comm.send(nbytes=result_bytes, dest=0)


if __name__ == "__main__":
    for model in ("postal", "max-rate"):
        report = hopcast.run("fat-tree", main, ranks=17, ppn=1, model=model)
        tasks_of = [report.results[0].count(rank) for rank in range(1, 17)]
        print(f"{model:>8}: {report.makespan_s:.4f} s, tasks by worker {tasks_of}")
