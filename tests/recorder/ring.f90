! A ring of messages and a sum, in Fortran.
program ring
  use mpi
  implicit none
  integer :: rank, ranks, error, requests(2), statuses(MPI_STATUS_SIZE, 2)
  double precision :: out(50), in(50), total
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  out = rank
  call MPI_Irecv(in, 50, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), 3, MPI_COMM_WORLD, requests(1), error)
  call MPI_Isend(out, 50, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), 3, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, statuses, error)
  call MPI_Allreduce(in(1), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  if (nint(total) /= ranks * (ranks - 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 1, error)
  call MPI_Finalize(error)
end program
