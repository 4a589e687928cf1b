/* Groups and communicators of all kinds: who is in them, and that messages on them go where they should. */
#include "check.h"

static int relation(MPI_Group one, MPI_Group other) {
    int result;
    CHECK(MPI_Group_compare(one, other, &result) == MPI_SUCCESS);
    return result;
}

static int members(MPI_Group group) {
    int count;
    CHECK(MPI_Group_size(group, &count) == MPI_SUCCESS);
    return count;
}

static void groups(void) {
    MPI_Group world, evens, odds, both, none, reverse, again;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECK(members(world) == size);
    int place = -1, range[1][3] = {{0, size - 1, 2}}, down[1][3] = {{size - 1, 0, -1}};
    MPI_Group_rank(world, &place);
    CHECK(place == rank);
    MPI_Group_range_incl(world, 1, range, &evens);
    MPI_Group_range_excl(world, 1, range, &odds);
    MPI_Group_range_incl(world, 1, down, &reverse);
    CHECK(members(evens) == (size + 1) / 2 && members(odds) == size / 2);
    MPI_Group_rank(evens, &place);
    CHECK(place == (rank % 2 ? MPI_UNDEFINED : rank / 2));
    MPI_Group_intersection(evens, odds, &none);
    CHECK(members(none) == 0 && relation(none, MPI_GROUP_EMPTY) == MPI_IDENT);
    MPI_Group_union(evens, odds, &both);
    CHECK(relation(both, world) == (size > 2 ? MPI_SIMILAR : MPI_IDENT));
    CHECK(relation(reverse, world) == (size > 1 ? MPI_SIMILAR : MPI_IDENT));
    CHECK(relation(evens, world) == (size > 1 ? MPI_UNEQUAL : MPI_IDENT));
    MPI_Group_difference(world, odds, &again);
    CHECK(relation(again, evens) == MPI_IDENT);
    int three[3] = {0, size - 1, MPI_PROC_NULL}, found[3] = {7, 7, 7};
    MPI_Group_translate_ranks(world, 3, three, reverse, found);
    CHECK(found[0] == size - 1 && found[1] == 0 && found[2] == MPI_PROC_NULL);
    if (size > 1) {
        int first = 1;
        MPI_Group_translate_ranks(world, 1, &first, evens, found);
        CHECK(found[0] == MPI_UNDEFINED);
        MPI_Group last;
        MPI_Group_incl(world, 1, &first, &last);
        MPI_Group_translate_ranks(last, 1, (int[]){0}, world, found);
        CHECK(found[0] == 1 && members(last) == 1);
        MPI_Group_free(&last);
        MPI_Group_excl(world, 1, &first, &last);
        CHECK(members(last) == size - 1);
        MPI_Group_free(&last);
    }
    MPI_Group_incl(world, 0, NULL, &none);
    CHECK(members(none) == 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int class, wrong = size, still[1][3] = {{0, 0, 0}};
    MPI_Error_class(MPI_Group_incl(world, 1, &wrong, &none), &class);
    CHECK(class == MPI_ERR_RANK);
    MPI_Error_class(MPI_Group_range_incl(world, 1, still, &none), &class);
    CHECK(class == MPI_ERR_ARG);
    MPI_Error_class(MPI_Group_size(MPI_GROUP_NULL, &place), &class);
    CHECK(class == MPI_ERR_GROUP);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Group *all[] = {&world, &evens, &odds, &both, &reverse, &again};
    for (int i = 0; i < 6; i++) {
        MPI_Group_free(all[i]);
        CHECK(*all[i] == MPI_GROUP_NULL);
    }
}

static int compared(MPI_Comm one, MPI_Comm other) {
    int result;
    CHECK(MPI_Comm_compare(one, other, &result) == MPI_SUCCESS);
    return result;
}

/* Its ranks add up: it works. */
static void works(MPI_Comm comm, int expected_rank, int expected_size) {
    int me, count, sum = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &count);
    CHECK(me == expected_rank && count == expected_size);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == count * (count - 1) / 2);
}

static void communicators(void) {
    MPI_Comm copy, part, made, soon;
    MPI_Group world, group;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    works(copy, rank, size);
    CHECK(compared(copy, MPI_COMM_WORLD) == MPI_CONGRUENT && compared(copy, copy) == MPI_IDENT);
    int backwards = MPI_Comm_split(MPI_COMM_WORLD, 3, -rank, &part);
    CHECK(backwards == MPI_SUCCESS && compared(part, MPI_COMM_WORLD) == (size > 1 ? MPI_SIMILAR : MPI_CONGRUENT));
    works(part, size - 1 - rank, size);
    MPI_Comm_free(&part);
    CHECK(part == MPI_COMM_NULL);
    MPI_Comm_split(copy, rank == 0 ? MPI_UNDEFINED : rank % 2, rank, &part);
    CHECK((part == MPI_COMM_NULL) == (rank == 0));
    if (part != MPI_COMM_NULL) {
        works(part, (rank - 1) / 2, rank % 2 ? size / 2 : (size - 1) / 2);
        MPI_Comm_disconnect(&part);
    }
    /* Two groups in one call, and those who call alone. */
    MPI_Comm_group(copy, &world);
    int range[1][3] = {{rank % 2, size - 1, 2}}, count, place;
    MPI_Group_range_incl(world, 1, range, &group);
    MPI_Group_size(group, &count);
    MPI_Group_rank(group, &place);
    MPI_Comm_create(copy, group, &made);
    works(made, place, count);
    MPI_Comm_free(&made);
    if (rank % 2 == 0) {
        MPI_Comm_create_group(copy, group, 5, &made);
        works(made, place, count);
        MPI_Comm_free(&made);
    }
    MPI_Comm_create(copy, rank == 0 ? group : MPI_GROUP_EMPTY, &made);
    MPI_Group_free(&group);
    CHECK(size > 2 || (made == MPI_COMM_NULL) == (rank != 0));
    if (made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
    MPI_Group_free(&world);
    /* Made while something else goes on. */
    MPI_Request request;
    if (rank > 0)
        MPI_Recv(&count, 1, MPI_INT, rank - 1, 1, copy, MPI_STATUS_IGNORE);
    MPI_Comm_idup(copy, &soon, &request);
    if (rank + 1 < size)
        MPI_Send(&rank, 1, MPI_INT, rank + 1, 1, copy);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    works(soon, rank, size);
    CHECK(compared(soon, copy) == MPI_CONGRUENT);
    MPI_Comm_free(&soon);
    MPI_Comm_split_type(copy, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
    MPI_Comm_rank(part, &place);
    MPI_Comm_size(part, &count);
    CHECK(place < count && count <= size);
    MPI_Comm_free(&part);
    MPI_Comm_split_type(copy, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part);
    CHECK(part == MPI_COMM_NULL);
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &count);
    CHECK(!strcmp(name, "MPI_COMM_WORLD") && count == (int)strlen(name));
    MPI_Comm_get_name(copy, name, &count);
    CHECK(!name[0] && count == 0);
    MPI_Comm_set_name(copy, "a copy");
    MPI_Comm_get_name(copy, name, &count);
    CHECK(!strcmp(name, "a copy") && count == 6);
    int flag = 7;
    MPI_Comm_test_inter(copy, &flag);
    CHECK(flag == 0);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
    MPI_Comm_free(&copy);
}

/* Odd ranks and even ones meet. */
static void inter_communicators(void) {
    if (size < 2)
        return;
    MPI_Comm half, inter, copy, merged;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
    int me, mine, theirs, flag, own = rank % 2 ? size / 2 : (size + 1) / 2;
    MPI_Comm_rank(inter, &me);
    MPI_Comm_size(inter, &mine);
    MPI_Comm_remote_size(inter, &theirs);
    MPI_Comm_test_inter(inter, &flag);
    CHECK(flag && me == rank / 2 && mine == own && theirs == size - own);
    CHECK(compared(inter, half) == MPI_UNEQUAL);
    MPI_Group remote, world;
    MPI_Comm_remote_group(inter, &remote);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < theirs; i++) {
        int theirs_is;
        MPI_Group_translate_ranks(remote, 1, &i, world, &theirs_is);
        CHECK(theirs_is == 2 * i + 1 - rank % 2);
    }
    MPI_Group_free(&remote);
    MPI_Group_free(&world);
    MPI_Comm_dup(inter, &copy);
    CHECK(compared(inter, copy) == MPI_CONGRUENT);
    /* Everyone to the partner of the same number, on both at once: contexts and groups stay apart. */
    if (me < theirs) {
        int out[2] = {rank, 100 + rank}, in[2] = {-1, -1};
        MPI_Request requests[2];
        MPI_Status status;
        MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 9, copy, &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_INT, me, MPI_ANY_TAG, inter, &requests[1]);
        MPI_Send(&out[1], 1, MPI_INT, me, 9, inter);
        MPI_Send(&out[0], 1, MPI_INT, me, 9, copy);
        MPI_Wait(&requests[0], &status);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        int partner = rank ^ 1;
        CHECK(in[0] == partner && in[1] == 100 + partner && status.MPI_SOURCE == me);
    }
    MPI_Comm_free(&copy);
    MPI_Intercomm_merge(inter, rank % 2 == 0, &merged);
    works(merged, rank % 2 ? rank / 2 : size / 2 + rank / 2, size);
    MPI_Comm_free(&merged);
    /* The first of each half, if there are any others. */
    MPI_Comm part;
    MPI_Comm_split(inter, me == 0, me, &part);
    if (part != MPI_COMM_NULL) {
        MPI_Comm_remote_size(part, &theirs);
        MPI_Comm_rank(part, &flag);
        CHECK(theirs == (me == 0 ? 1 : size - own - 1) && flag == (me == 0 ? 0 : me - 1));
        MPI_Comm_free(&part);
    }
    MPI_Group group, first;
    MPI_Comm_group(inter, &group);
    MPI_Group_incl(group, 1, (int[]){0}, &first);
    MPI_Comm_create(inter, first, &part);
    CHECK((part == MPI_COMM_NULL) == (me > 0));
    if (part != MPI_COMM_NULL) {
        int got = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, part, MPI_STATUS_IGNORE);
        CHECK(got == 1 - rank);
        MPI_Comm_free(&part);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&first);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    groups();
    communicators();
    inter_communicators();
    printf("rank %d is done\n", rank);
    MPI_Finalize();
    return 0;
}
