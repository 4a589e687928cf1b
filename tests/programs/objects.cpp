// C++: static objects with constructors and destructors, streams, exceptions, all of a rank's own.
#include <mpi.h>

#include <iostream>
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
    const bool right = ranks_made == 1 && numbers.size() == 4 && numbers.back() == rank &&
                       text.substr(text.size() - 1) == std::to_string(rank % 10);
    if (!right) MPI_Abort(MPI_COMM_WORLD, 1);
    std::cout << "rank " << rank << " caught " << caught << std::endl;
    MPI_Finalize();
    return 0;
}
