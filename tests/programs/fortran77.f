C     mpif.h: sentinels, statuses, texts and datatypes of Fortran.
      program fortran77
      implicit none
      include 'mpif.h'
      integer rank, size, ierr, i, right, left
      integer status(MPI_STATUS_SIZE), requests(4)
      integer statuses(MPI_STATUS_SIZE, 4), indices(4), done, which
      double precision values(10), sums(10)
      character*(MPI_MAX_ERROR_STRING) text
      integer length, newtype, comm, class
      integer blocks(2), types(2), kept, counted, old(2)
      integer(kind=MPI_ADDRESS_KIND) places(2), lb, extent
      logical flag
      common /pair/ kept(4)

      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      right = mod(rank + 1, size)
      left = mod(rank + size - 1, size)

C     Point-to-point, and what stands for nothing.
      do i = 1, 10
         values(i) = rank + i / 16d0
      end do
      call MPI_SENDRECV(values, 10, MPI_DOUBLE_PRECISION, right, 5,
     &     sums, 10, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD,
     &     status, ierr)
      call check(status(MPI_SOURCE) .eq. left, 'source')
      call check(status(MPI_TAG) .eq. 5, 'tag')
      call MPI_GET_COUNT(status, MPI_DOUBLE_PRECISION, counted, ierr)
      call check(counted .eq. 10, 'count')
      call check(sums(10) .eq. left + 10 / 16d0, 'data')
      call MPI_SENDRECV(values, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL,
     &     5, sums, 10, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 5,
     &     MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)

      do i = 1, 2
         call MPI_IRECV(kept(i), 1, MPI_INTEGER, left, i,
     &        MPI_COMM_WORLD, requests(i), ierr)
         call MPI_ISEND(100 * rank + i, 1, MPI_INTEGER, right, i,
     &        MPI_COMM_WORLD, requests(i + 2), ierr)
      end do
      call MPI_WAITSOME(4, requests, done, indices, statuses, ierr)
      do i = 1, done
         call check(indices(i) .ge. 1 .and. indices(i) .le. 4, 'some')
      end do
      call MPI_WAITALL(4, requests, MPI_STATUSES_IGNORE, ierr)
      call check(kept(1) .eq. 100 * left + 1, 'first')
      call check(kept(2) .eq. 100 * left + 2, 'second')
      call MPI_WAITANY(4, requests, which, status, ierr)
      call check(which .lt. 0, 'nothing to wait for')

C     Collectives.
      do i = 1, 10
         sums(i) = 1
      end do
      call MPI_ALLREDUCE(MPI_IN_PLACE, sums, 10, MPI_DOUBLE_PRECISION,
     &     MPI_SUM, MPI_COMM_WORLD, ierr)
      call check(sums(3) .eq. size, 'in place')
      call MPI_BCAST(flag, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD, ierr)
      flag = rank .eq. 0
      call MPI_ALLREDUCE(MPI_IN_PLACE, flag, 1, MPI_LOGICAL, MPI_LOR,
     &     MPI_COMM_WORLD, ierr)
      call check(flag, 'logical or')

C     A structure in a common block, by absolute addresses.
      call MPI_GET_ADDRESS(kept(1), places(1), ierr)
      call MPI_GET_ADDRESS(kept(3), places(2), ierr)
      blocks(1) = 1
      blocks(2) = 2
      types(1) = MPI_INTEGER
      types(2) = MPI_INTEGER
      call MPI_TYPE_CREATE_STRUCT(2, blocks, places, types, newtype,
     &     ierr)
      call MPI_TYPE_COMMIT(newtype, ierr)
      do i = 1, 4
         kept(i) = 10 * rank + i
      end do
      call MPI_BCAST(MPI_BOTTOM, 1, newtype, size - 1, MPI_COMM_WORLD,
     &     ierr)
      call check(kept(1) .eq. 10 * (size - 1) + 1, 'struct 1')
      call check(kept(2) .eq. 10 * rank + 2, 'struct 2')
      call check(kept(4) .eq. 10 * (size - 1) + 4, 'struct 4')
      call MPI_TYPE_FREE(newtype, ierr)
      call MPI_TYPE_GET_EXTENT(MPI_DOUBLE_COMPLEX, lb, extent, ierr)
      call check(lb .eq. 0 .and. extent .eq. 16, 'extent')

C     Of MPI 1, with default integers.
      old(1) = 0
      old(2) = 8
      call MPI_TYPE_HINDEXED(2, blocks, old, MPI_INTEGER, newtype,
     &     ierr)
      call MPI_TYPE_EXTENT(newtype, i, ierr)
      call check(i .eq. 16, 'hindexed')
      call MPI_TYPE_FREE(newtype, ierr)
      call MPI_TYPE_STRUCT(2, blocks, old, types, newtype, ierr)
      call MPI_TYPE_UB(newtype, i, ierr)
      call check(i .eq. 16, 'struct')
      call MPI_TYPE_LB(newtype, i, ierr)
      call check(i .eq. 0, 'lower bound')
      call MPI_TYPE_FREE(newtype, ierr)
      call MPI_TYPE_HVECTOR(3, 1, 8, MPI_INTEGER, newtype, ierr)
      call MPI_TYPE_EXTENT(newtype, i, ierr)
      call check(i .eq. 20, 'hvector')
      call MPI_TYPE_FREE(newtype, ierr)

C     Texts, codes, communicators.
      call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN,
     &     ierr)
      call MPI_SEND(values, 1, MPI_DOUBLE_PRECISION, size + 3, 0,
     &     MPI_COMM_WORLD, ierr)
      call check(ierr .ne. MPI_SUCCESS, 'a wrong rank')
      call MPI_ERROR_CLASS(ierr, class, ierr)
      call check(class .eq. MPI_ERR_RANK, 'its class')
      call MPI_ERROR_STRING(MPI_ERR_RANK, text, length, ierr)
      call check(length .gt. 3, 'a text')
      call check(text(length+1:length+1) .eq. ' ', 'with blanks')
      call MPI_COMM_SPLIT(MPI_COMM_WORLD, mod(rank, 2), -rank, comm,
     &     ierr)
      call MPI_COMM_RANK(comm, i, ierr)
      call check(i .eq. (size - 1 - rank) / 2, 'rank after split')
      call MPI_COMM_FREE(comm, ierr)
      call check(comm .eq. MPI_COMM_NULL, 'freed')
      call check(MPI_WTIME() .ge. 0, 'time')
      if (rank .eq. 0) print '(a,i3,a)', ' mpif.h on', size, ' ranks'
      call MPI_FINALIZE(ierr)
      end

      subroutine check(condition, what)
      implicit none
      include 'mpif.h'
      logical condition
      character*(*) what
      integer ierr
      if (.not. condition) then
         print *, 'not so: ', what
         call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
      end if
      end
