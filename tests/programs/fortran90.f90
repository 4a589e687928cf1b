! The module mpi: buffers of any type and rank, and interfaces that check the rest.
program fortran90
  use mpi
  use iso_c_binding
  implicit none
  interface ! What C has of them. A handle of MPICH is the lower half of the argument.
    integer(c_int) function c_get(comm, key, place, flag) bind(C, name="MPI_Comm_get_attr")
      import
      integer(c_intptr_t), value :: comm
      integer(c_int), value :: key
      type(c_ptr) :: place
      integer(c_int) :: flag
    end function
    integer(c_int) function c_set(comm, key, place) bind(C, name="MPI_Comm_set_attr")
      import
      integer(c_intptr_t), value :: comm
      integer(c_int), value :: key
      type(c_ptr), value :: place
    end function
  end interface
  integer, parameter :: wide = selected_real_kind(15)
  integer :: rank, size, i, ierr, request
  integer :: status(MPI_STATUS_SIZE)
  real(wide) :: matrix(4, 3), column(4)
  complex :: phase
  character(len=12) :: word
  character(len=12), allocatable :: words(:)
  integer, allocatable :: counts(:), places(:), gathered(:)
  type point
    sequence
    real(wide) :: x, y
    integer :: colour, unused
  end type
  type(point) :: here, there

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  allocate (words(size), counts(size), places(size))

  matrix = reshape([(real(i + 100 * rank, wide), i = 1, 12)], [4, 3])
  call MPI_Sendrecv(matrix(:, 2), 4, MPI_REAL8, mod(rank + 1, size), 0, column, 4, MPI_REAL8, &
                    mod(rank + size - 1, size), 0, MPI_COMM_WORLD, status, ierr)
  call check(all(column == [(real(i + 100 * status(MPI_SOURCE), wide), i = 5, 8)]), "a column")
  call MPI_Sendrecv_replace(matrix(2, :), 3, MPI_DOUBLE_PRECISION, rank, 1, rank, 1, MPI_COMM_WORLD, status, ierr)
  call check(matrix(2, 3) == 10 + 100 * rank, "a row comes back")

  write (word, '(a, i0)') "rank", rank
  call MPI_Allgather(word, 12, MPI_CHARACTER, words, 12, MPI_CHARACTER, MPI_COMM_WORLD, ierr)
  do i = 1, size
    write (word, '(a, i0)') "rank", i - 1
    call check(words(i) == word, "words")
  end do

  counts = [(mod(i, 3) + 1, i = 1, size)]
  places = [(sum(counts(1:i - 1)), i = 1, size)]
  allocate (gathered(sum(counts)))
  call MPI_Allgatherv([(rank, i = 1, counts(rank + 1))], counts(rank + 1), MPI_INTEGER, gathered, counts, places, &
                      MPI_INTEGER, MPI_COMM_WORLD, ierr)
  do i = 1, size
    call check(all(gathered(places(i) + 1:places(i) + counts(i)) == i - 1), "of different lengths")
  end do

  phase = cmplx(1, rank)
  call MPI_Allreduce(MPI_IN_PLACE, phase, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
  call check(phase == cmplx(size, size * (size - 1) / 2), "a sum of complex numbers")

  here = point(rank + 0.5_wide, -rank, rank, 0)
  call MPI_Isend(here, 24, MPI_BYTE, mod(rank + 1, size), 2, MPI_COMM_WORLD, request, ierr)
  call MPI_Recv(there, 24, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, status, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call check(there%colour == status(MPI_SOURCE) .and. there%x == there%colour + 0.5_wide, "a type of the program")

  call attributes

  if (rank == 0) print '(a, i0, a)', "the module mpi on ", size, " ranks"
  call MPI_Finalize(ierr)

contains

  ! C gets the address of what Fortran has set; Fortran gets as a number the pointer that C has set.
  subroutine attributes
    integer :: key, copy, i
    integer(MPI_ADDRESS_KIND) :: value, extra
    integer(MPI_ADDRESS_KIND), pointer :: seen
    integer(c_int), target :: mine
    type(c_ptr) :: place
    integer(c_int) :: flag
    logical :: there
    extra = 7
    call MPI_Comm_create_keyval(one_more, MPI_COMM_NULL_DELETE_FN, key, extra, ierr)
    do i = 1, 200
      call MPI_Comm_set_attr(MPI_COMM_WORLD, key, int(-1000000000000_8 * i, MPI_ADDRESS_KIND), ierr)
    end do
    ierr = c_get(int(MPI_COMM_WORLD, c_intptr_t), key, place, flag)
    call c_f_pointer(place, seen)
    call check(flag /= 0 .and. seen == -200000000000000_8, "what Fortran has set, in C")
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
    call MPI_Comm_get_attr(copy, key, value, there, ierr)
    call check(there .and. value == -199999999999999_8, "a copy of it")
    ierr = c_set(int(MPI_COMM_WORLD, c_intptr_t), key, c_loc(mine))
    call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, there, ierr)
    call check(there .and. value == transfer(c_loc(mine), value), "what C has set, in Fortran")
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierr)
    call MPI_Comm_free_keyval(key, ierr)
  end subroutine

  subroutine one_more(old, key, extra, from, to, flag, code)
    integer :: old, key, code
    integer(MPI_ADDRESS_KIND) :: extra, from, to
    logical :: flag
    to = from + extra / 7
    flag = old == MPI_COMM_WORLD .and. key /= MPI_KEYVAL_INVALID
    code = MPI_SUCCESS
  end subroutine

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print *, "not so: ", what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine

end program
