// C++: static objects with constructors and destructors, streams, exceptions, all of a rank's own.
#include <mpi.h>

#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int ranks_made = 0;

struct Counter {
    int value = 41;
    Counter() { ++ranks_made; }
    ~Counter() { std::cout << "gone " << value << std::endl; }
};

Counter counter;
std::vector<int> numbers{1, 2, 3};
std::string text = "longer than a string can be without memory of its own";

void thrower(int rank) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2) throw std::runtime_error("odd");
}

// What a function of the program throws comes out of the MPI call that has called it.
void handler(MPI_Comm *, int *code, ...) { throw *code; }
void operation(void *, void *, int *, MPI_Datatype *) { throw 1; }
int deleter(MPI_Comm, int, void *, void *) { throw 2; }
int copier(MPI_Datatype, int, void *, void *, void *, int *) { throw 3; }
int query(void *, MPI_Status *) { throw 4; }
int nothing(void *) { return MPI_SUCCESS; }
int never(void *, int) { return MPI_SUCCESS; }

template <class Function>
int thrown(Function call) {
    try {
        call();
    } catch (int number) {
        return number;
    }
    return 0;
}

bool comes_out() {
    int one = 1, two = 2, comm_key, type_key;
    MPI_Comm comm;
    MPI_Errhandler errors;
    MPI_Op op;
    MPI_Datatype type, copy;
    MPI_Request request, sends[2];
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Comm_set_errhandler(comm, errors);
    MPI_Op_create(operation, 1, &op);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleter, &comm_key, nullptr);
    MPI_Type_create_keyval(copier, MPI_TYPE_NULL_DELETE_FN, &type_key, nullptr);
    MPI_Comm_set_attr(comm, comm_key, &one);
    MPI_Type_dup(MPI_INT, &type);
    MPI_Type_set_attr(type, type_key, &one);
    bool right = true;
    for (int again = 0; again < 2; again++) {
        int class_of = 0;
        int code = thrown([&] { MPI_Send(&one, 1, MPI_INT, 99, 0, comm); });
        MPI_Error_class(code, &class_of);
        right = right && class_of == MPI_ERR_RANK;
        right = right && thrown([&] { MPI_Reduce_local(&one, &two, 1, MPI_INT, op); }) == 1;
        right = right && thrown([&] { MPI_Comm_delete_attr(comm, comm_key); }) == 2;
        right = right && thrown([&] { MPI_Type_dup(type, &copy); }) == 3;
        MPI_Grequest_start(query, nothing, never, nullptr, &request);
        MPI_Grequest_complete(request);
        right = right && thrown([&] { MPI_Wait(&request, MPI_STATUS_IGNORE); }) == 4;
    }
    // The request is the program's again when the handler throws.
    MPI_Irecv(&two, 0, MPI_INT, 0, 0, comm, &sends[0]);
    MPI_Isend(&one, 1, MPI_INT, 0, 0, comm, &sends[1]);
    right = right && thrown([&] { MPI_Wait(&sends[0], MPI_STATUS_IGNORE); }) != 0;
    MPI_Wait(&sends[1], MPI_STATUS_IGNORE);
    return right && sends[0] == MPI_REQUEST_NULL;
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    counter.value += rank;
    numbers.push_back(rank);
    text += std::to_string(rank);
    std::string caught = "nothing";
    try {
        thrower(rank);
    } catch (const std::exception &error) {
        MPI_Barrier(MPI_COMM_SELF);  // other ranks run while this one handles its exception
        caught = error.what();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    static std::once_flag once;  // its state is a thread-local variable of the C++ library
    for (int time = 0; time < 2; ++time) std::call_once(once, [] { numbers.push_back(7); });
    const bool right = ranks_made == 1 && numbers.size() == 5 && numbers[3] == rank && numbers[4] == 7 &&
                       text.substr(text.size() - 1) == std::to_string(rank % 10) && comes_out();
    if (!right) MPI_Abort(MPI_COMM_WORLD, 1);
    std::cout << "rank " << rank << " caught " << caught << std::endl;
    MPI_Finalize();
    return 0;
}
