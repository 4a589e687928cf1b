! What the Fortran library keeps, its units above all, is a rank's own.
subroutine say(rank) bind(c)
  use iso_c_binding
  integer(c_int), value :: rank
  character(20) :: name
  print *, 'hello of', rank
  write(*,'(a,i0)',advance='no') 'part ', rank
  write(name, '(a,i0)') 'fort.out.', rank
  open(10, file=trim(name))
  write(10,*) rank
end subroutine
subroutine more(rank) bind(c)
  use iso_c_binding
  integer(c_int), value :: rank
  integer :: i
  real :: x
  write(*,'(a,i0)') ' rest ', rank
  rewind(10)
  read(10,*) i
  if (i /= rank) stop 5
  close(10, status='delete')
  call random_number(x)
end subroutine
