! The module mpi_f08: handles and statuses as types, no error code wanted, variables of a module for each rank.
module state
  implicit none
  integer :: calls = 0
  integer, save :: initial(3) = [1, 2, 3]
end module

program fortran2008
  use mpi_f08
  use state
  implicit none
  integer :: rank, size, i, ierr, bytes
  integer, volatile :: kept(3)
  real, allocatable :: field(:, :), inner(:, :)
  type(MPI_Comm) :: row
  type(MPI_Datatype) :: block
  type(MPI_Request), allocatable :: requests(:)
  type(MPI_Status), allocatable :: statuses(:)
  type(MPI_Status) :: status
  integer, allocatable :: received(:)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  call check(ierr == MPI_SUCCESS, "an error code that is wanted")

  ! Every rank has variables of its own.
  initial = initial + rank
  call MPI_Barrier(MPI_COMM_WORLD)
  call check(all(initial == [1, 2, 3] + rank), "a variable with a value")
  do i = 0, rank
    call count_call
  end do
  call MPI_Barrier(MPI_COMM_WORLD)
  call check(calls == rank + 1, "a variable of a module")

  ! All to all by requests.
  allocate (requests(2 * size), statuses(2 * size), received(size))
  do i = 1, size
    call MPI_Irecv(received(i), 1, MPI_INTEGER, i - 1, 7, MPI_COMM_WORLD, requests(i))
  end do
  kept = rank
  do i = 1, size
    call MPI_Isend(kept, 1, MPI_INTEGER, i - 1, 7, MPI_COMM_WORLD, requests(size + i))
  end do
  call MPI_Waitall(2 * size, requests, statuses)
  call check(all(received == [(i, i = 0, size - 1)]), "from every rank")
  call check(statuses(size)%MPI_SOURCE == size - 1 .and. statuses(1)%MPI_TAG == 7, "statuses")
  call check(requests(1) == MPI_REQUEST_NULL .and. .not. requests(2) /= MPI_REQUEST_NULL, "handles compare")
  call MPI_Get_count(statuses(1), MPI_INTEGER, i)
  call check(i == 1, "a count")

  ! The inner part of a field, as a datatype.
  allocate (field(0:5, 0:3), inner(4, 2))
  field = reshape([(real(i + 1000 * rank), i = 0, 23)], [6, 4])
  call MPI_Type_vector(2, 4, 6, MPI_REAL, block)
  call MPI_Type_commit(block)
  call MPI_Sendrecv(field(1, 1), 1, block, mod(rank + 1, size), 1, inner, 8, MPI_REAL, &
                    mod(rank + size - 1, size), 1, MPI_COMM_WORLD, status)
  i = status%MPI_SOURCE * 1000
  call check(all(nint(inner(:, 1)) == [7, 8, 9, 10] + i), "the first column")
  call check(all(nint(inner(:, 2)) == [13, 14, 15, 16] + i), "the second column")
  call MPI_Type_free(block)
  call check(block == MPI_DATATYPE_NULL, "a freed datatype")

  call MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, row)
  i = 1
  call MPI_Allreduce(MPI_IN_PLACE, i, 1, MPI_INTEGER, MPI_SUM, row)
  call check(i == min(2, size - 2 * (rank / 2)), "a row")
  call MPI_Comm_free(row)
  call check(row == MPI_COMM_NULL, "a freed communicator")

  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Send(i, 1, MPI_INTEGER, -7, 0, MPI_COMM_WORLD, ierr)
  call check(ierr /= MPI_SUCCESS, "a wrong rank")
  call MPI_Sizeof(inner, bytes)
  call check(bytes == 4, "the size of a number")
  if (rank == 0) print '(a, i0, a)', "the module mpi_f08 on ", size, " ranks"
  call MPI_Finalize()

contains

  subroutine count_call
    calls = calls + 1
  end subroutine

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print *, "not so: ", what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

end program
