/* Functions of the MPI 5.0 standard: point to point. See ../mpi.h for how this table is read. */
int MPI_FN(Bsend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); /* point_to_point::bsend */
int MPI_FN(Bsend_c)(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); /* point_to_point::bsend */
int MPI_FN(Bsend_init)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::bsend_init */
int MPI_FN(Bsend_init_c)(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::bsend_init */
int MPI_FN(Buffer_attach)(void *buffer, int size); /* point_to_point::buffer_attach */
int MPI_FN(Buffer_attach_c)(void *buffer, MPI_Count size); /* point_to_point::buffer_attach */
int MPI_FN(Buffer_detach)(void *buffer_addr, int *size); /* point_to_point::buffer_detach */
int MPI_FN(Buffer_detach_c)(void *buffer_addr, MPI_Count *size); /* point_to_point::buffer_detach */
int MPI_FN(Buffer_flush)(void); /* point_to_point::buffer_flush */
int MPI_FN(Buffer_iflush)(MPI_Request *request); /* point_to_point::buffer_iflush */
int MPI_FN(Comm_attach_buffer)(MPI_Comm comm, void *buffer, int size); /* point_to_point::comm_attach_buffer */
int MPI_FN(Comm_attach_buffer_c)(MPI_Comm comm, void *buffer, MPI_Count size); /* point_to_point::comm_attach_buffer */
int MPI_FN(Comm_detach_buffer)(MPI_Comm comm, void *buffer_addr, int *size); /* point_to_point::comm_detach_buffer */
int MPI_FN(Comm_detach_buffer_c)(MPI_Comm comm, void *buffer_addr, MPI_Count *size); /* point_to_point::comm_detach_buffer */
int MPI_FN(Comm_flush_buffer)(MPI_Comm comm); /* point_to_point::comm_flush_buffer */
int MPI_FN(Comm_iflush_buffer)(MPI_Comm comm, MPI_Request *request); /* point_to_point::comm_iflush_buffer */
int MPI_FN(Ibsend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::ibsend */
int MPI_FN(Ibsend_c)(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::ibsend */
int MPI_FN(Improbe)(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status); /* point_to_point::improbe */
int MPI_FN(Imrecv)(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request); /* point_to_point::imrecv */
int MPI_FN(Imrecv_c)(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request); /* point_to_point::imrecv */
int MPI_FN(Iprobe)(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status); /* point_to_point::iprobe */
int MPI_FN(Irecv)(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::irecv */
int MPI_FN(Irecv_c)(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::irecv */
int MPI_FN(Irsend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::irsend */
int MPI_FN(Irsend_c)(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::irsend */
int MPI_FN(Isend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::isend */
int MPI_FN(Isend_c)(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::isend */
int MPI_FN(Isendrecv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request *request); /* point_to_point::isendrecv */
int MPI_FN(Isendrecv_c)(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request *request); /* point_to_point::isendrecv */
int MPI_FN(Isendrecv_replace)(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Request *request); /* point_to_point::isendrecv_replace */
int MPI_FN(Isendrecv_replace_c)(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Request *request); /* point_to_point::isendrecv_replace */
int MPI_FN(Issend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::issend */
int MPI_FN(Issend_c)(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::issend */
int MPI_FN(Mprobe)(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status); /* point_to_point::mprobe */
int MPI_FN(Mrecv)(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status); /* point_to_point::mrecv */
int MPI_FN(Mrecv_c)(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status); /* point_to_point::mrecv */
int MPI_FN(Parrived)(MPI_Request request, int partition, int *flag); /* point_to_point::parrived */
int MPI_FN(Pready)(int partition, MPI_Request request); /* point_to_point::pready */
int MPI_FN(Pready_list)(int length, const int array_of_partitions[], MPI_Request request); /* point_to_point::pready_list */
int MPI_FN(Pready_range)(int partition_low, int partition_high, MPI_Request request); /* point_to_point::pready_range */
int MPI_FN(Precv_init)(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request); /* point_to_point::precv_init */
int MPI_FN(Probe)(int source, int tag, MPI_Comm comm, MPI_Status *status); /* point_to_point::probe */
int MPI_FN(Psend_init)(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request); /* point_to_point::psend_init */
int MPI_FN(Recv)(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status); /* point_to_point::recv */
int MPI_FN(Recv_c)(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status); /* point_to_point::recv */
int MPI_FN(Recv_init)(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::recv_init */
int MPI_FN(Recv_init_c)(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::recv_init */
int MPI_FN(Rsend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); /* point_to_point::rsend */
int MPI_FN(Rsend_c)(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); /* point_to_point::rsend */
int MPI_FN(Rsend_init)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::rsend_init */
int MPI_FN(Rsend_init_c)(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::rsend_init */
int MPI_FN(Send)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); /* point_to_point::send */
int MPI_FN(Send_c)(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); /* point_to_point::send */
int MPI_FN(Send_init)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::send_init */
int MPI_FN(Send_init_c)(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::send_init */
int MPI_FN(Sendrecv)(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status); /* point_to_point::sendrecv */
int MPI_FN(Sendrecv_c)(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status); /* point_to_point::sendrecv */
int MPI_FN(Sendrecv_replace)(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status *status); /* point_to_point::sendrecv_replace */
int MPI_FN(Sendrecv_replace_c)(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status *status); /* point_to_point::sendrecv_replace */
int MPI_FN(Ssend)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); /* point_to_point::ssend */
int MPI_FN(Ssend_c)(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm); /* point_to_point::ssend */
int MPI_FN(Ssend_init)(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::ssend_init */
int MPI_FN(Ssend_init_c)(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request); /* point_to_point::ssend_init */
