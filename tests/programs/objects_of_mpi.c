/* Attributes, infos, error handlers and codes, sessions, handles between languages. */
#include "check.h"

static int class_of(int code) {
    int class;
    CHECK(MPI_Error_class(code, &class) == MPI_SUCCESS);
    return class;
}

/* What callbacks have been told. */
static int copied, deleted, refuse, order[8];

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag) {
    CHECK(comm != MPI_COMM_NULL && key != MPI_KEYVAL_INVALID && *(int *)state == 42);
    copied++;
    if (refuse)
        return MPI_ERR_OTHER;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *state) {
    CHECK(comm != MPI_COMM_NULL && key != MPI_KEYVAL_INVALID && state);
    if (refuse)
        return MPI_ERR_OTHER;
    order[deleted++ % 8] = (int)(size_t)value;
    return MPI_SUCCESS;
}

static int number;

static int count(MPI_Datatype type, int key, void *value, void *state) {
    CHECK(type != MPI_DATATYPE_NULL && key != MPI_KEYVAL_INVALID && state == &number);
    number += (int)(size_t)value;
    return MPI_SUCCESS;
}

static void attributes(void) {
    int key, other, plain, flag, state = 42;
    void *value;
    MPI_Comm comm, again;
    MPI_Comm_create_keyval(copy, delete, &key, &state);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &plain, &state);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_get_attr(comm, key, &value, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(comm, key, (void *)10);
    MPI_Comm_set_attr(comm, other, (void *)20);
    MPI_Comm_set_attr(comm, plain, (void *)30);
    MPI_Comm_dup(comm, &again);
    CHECK(copied == 1);
    MPI_Comm_get_attr(again, key, &value, &flag);
    CHECK(flag && value == (void *)11);
    MPI_Comm_get_attr(again, other, &value, &flag);
    CHECK(flag && value == (void *)20);
    MPI_Comm_get_attr(again, plain, &value, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(again, key, (void *)12);
    CHECK(deleted == 1 && order[0] == 11);
    MPI_Comm_delete_attr(again, other);
    MPI_Comm_get_attr(again, other, &value, &flag);
    CHECK(!flag);
    int freed = key;
    MPI_Comm_free_keyval(&freed);
    CHECK(freed == MPI_KEYVAL_INVALID);
    MPI_Comm_free(&again);
    CHECK(deleted == 2 && order[1] == 12);
    /* Callbacks that refuse. */
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    refuse = 1;
    CHECK(MPI_Comm_dup(comm, &again) != MPI_SUCCESS);
    CHECK(MPI_Comm_delete_attr(comm, plain) != MPI_SUCCESS);
    refuse = 0;
    MPI_Comm_get_attr(comm, plain, &value, &flag);
    CHECK(flag && value == (void *)30);
    MPI_Comm_free(&comm);
    CHECK(deleted == 4 && comm == MPI_COMM_NULL);
    MPI_Comm_free_keyval(&other);
    MPI_Comm_free_keyval(&plain);
    int *standard;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &standard, &flag);
    CHECK(flag && *standard >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &standard, &flag);
    CHECK(flag && (*standard == 0 || *standard == 1));
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &standard, &flag);
    CHECK(flag && *standard == MPI_PROC_NULL);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &standard, &flag);
    CHECK(flag && *standard == MPI_ANY_SOURCE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &standard, &flag);
    CHECK(!flag || *standard >= 0);
    MPI_Datatype type;
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, count, &key, &number);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_set_attr(type, key, (void *)5);
    MPI_Type_get_attr(type, key, &value, &flag);
    CHECK(flag && value == (void *)5);
    MPI_Type_set_attr(type, key, (void *)6);
    CHECK(number == 5);
    MPI_Type_delete_attr(type, key);
    CHECK(number == 11);
    MPI_Type_free_keyval(&key);
    MPI_Type_free(&type);
}

static void infos(void) {
    MPI_Info info, same;
    char key[MPI_MAX_INFO_KEY], value[64];
    int keys, flag, length;
    MPI_Info_create(&info);
    MPI_Info_set(info, "one", "1");
    MPI_Info_set(info, "two", "a second value");
    MPI_Info_set(info, "one", "first");
    MPI_Info_get_nkeys(info, &keys);
    CHECK(keys == 2);
    MPI_Info_get_nthkey(info, 0, key);
    CHECK(!strcmp(key, "one"));
    MPI_Info_get_valuelen(info, "two", &length, &flag);
    CHECK(flag && length == 14);
    MPI_Info_get(info, "two", 63, value, &flag);
    CHECK(flag && !strcmp(value, "a second value"));
    length = 3;
    MPI_Info_get_string(info, "one", &length, value, &flag);
    CHECK(flag && length == 6 && !strcmp(value, "fi"));
    length = 0;
    MPI_Info_get_string(info, "one", &length, value, &flag);
    CHECK(flag && length == 6);
    MPI_Info_dup(info, &same);
    MPI_Info_delete(same, "one");
    MPI_Info_get(same, "one", 10, value, &flag);
    CHECK(!flag);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Info_delete(same, "one")) == MPI_ERR_INFO_NOKEY);
    char longer[MPI_MAX_INFO_KEY + 10];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    CHECK(class_of(MPI_Info_set(same, longer, "1")) == MPI_ERR_INFO_KEY);
    CHECK(MPI_Info_get_nthkey(same, 7, key) != MPI_SUCCESS);
    MPI_Info_free(&same);
    CHECK(same == MPI_INFO_NULL);
    MPI_Comm comm;
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Comm_set_info(comm, info);
    MPI_Comm_get_info(comm, &same);
    CHECK(same != MPI_INFO_NULL);
    MPI_Info_free(&same);
    MPI_Comm_free(&comm);
    MPI_Info_free(&info);
    MPI_Info_get_nkeys(MPI_INFO_ENV, &keys);
    CHECK(keys >= 0);
}

static int heard, told_code, last_added = MPI_ERR_LASTCODE;
static MPI_Comm told_comm;

static void hear(MPI_Comm *comm, int *code, ...) {
    heard++;
    told_comm = *comm;
    told_code = *code;
}

static void errors(void) {
    MPI_Errhandler handler, found;
    MPI_Comm comm, copied_comm;
    int added, code, length, *last, flag;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(hear, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_get_errhandler(comm, &found);
    CHECK(found == handler);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
    CHECK(handler == MPI_ERRHANDLER_NULL);
    CHECK(class_of(MPI_Send(&rank, 1, MPI_INT, size, 0, comm)) == MPI_ERR_RANK);
    CHECK(heard == 1 && told_comm == comm && class_of(told_code) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Send(&rank, -1, MPI_INT, 0, 0, comm)) == MPI_ERR_COUNT);
    MPI_Comm_dup(comm, &copied_comm);
    CHECK(class_of(MPI_Send(&rank, 1, MPI_INT, 0, -7, copied_comm)) == MPI_ERR_TAG);
    CHECK(heard == 3 && told_comm == copied_comm);
    CHECK(MPI_Comm_call_errhandler(comm, MPI_ERR_TOPOLOGY) == MPI_SUCCESS);
    CHECK(heard == 4 && told_code == MPI_ERR_TOPOLOGY);
    MPI_Comm_set_errhandler(copied_comm, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Recv(&rank, 1, MPI_DATATYPE_NULL, 0, 0, copied_comm, MPI_STATUS_IGNORE)) == MPI_ERR_TYPE);
    CHECK(heard == 4);
    MPI_Comm_free(&copied_comm);
    MPI_Comm_free(&comm);
    CHECK(class_of(MPI_Comm_size(MPI_COMM_NULL, &length)) == MPI_ERR_COMM);
    MPI_Add_error_class(&added);
    MPI_Add_error_code(added, &code);
    CHECK(added > last_added && code > last_added && class_of(code) == added && class_of(added) == added);
    MPI_Error_string(code, text, &length);
    CHECK(length == 0 && !text[0]);
    MPI_Add_error_string(code, "the coffee is cold");
    MPI_Error_string(code, text, &length);
    CHECK(!strcmp(text, "the coffee is cold") && length == 18);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    CHECK(flag && *last >= added);
    MPI_Error_string(MPI_ERR_TRUNCATE, text, &length);
    CHECK(length > 0 && length == (int)strlen(text));
}

static void languages(void) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(comm)) == comm);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM && MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL);
    MPI_Status status, back;
    MPI_Fint fortran[sizeof(MPI_Status) / sizeof(MPI_Fint)];
    MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_SELF, &status);
    MPI_Status_c2f(&status, fortran);
    MPI_Status_f2c(fortran, &back);
    CHECK(back.MPI_SOURCE == status.MPI_SOURCE && back.MPI_TAG == status.MPI_TAG);
    char bytes[10];
    MPI_Aint base, end;
    MPI_Get_address(bytes, &base);
    MPI_Get_address(bytes + 7, &end);
    CHECK(MPI_Aint_diff(end, base) == 7 && MPI_Aint_add(base, 7) == end);
    MPI_Comm_free(&comm);
}

static void sessions(void) {
    MPI_Session session, second;
    MPI_Info info;
    MPI_Group group;
    MPI_Comm comm;
    int sets, length, found = 0, count_of, sum = 0;
    char name[MPI_MAX_PSET_NAME_LEN];
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
    for (int i = 0; i < sets; i++) {
        length = sizeof name;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
        CHECK(length >= (int)strlen(name));
        found += !strcmp(name, "mpi://WORLD") + !strcmp(name, "mpi://SELF");
    }
    CHECK(found == 2);
    MPI_Session_get_pset_info(session, "mpi://WORLD", &info);
    MPI_Info_get(info, "mpi_size", 30, name, &length);
    CHECK(length && atoi(name) == size);
    MPI_Info_free(&info);
    MPI_Session_get_info(session, &info);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Group_size(group, &count_of);
    CHECK(count_of == size);
    MPI_Comm_create_from_group(group, "a test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size * (size - 1) / 2);
    CHECK(class_of(MPI_Send(&rank, 1, MPI_INT, size, 0, comm)) == MPI_ERR_RANK);
    MPI_Comm_free(&comm);
    if (size > 1) {
        int half[1][3] = {{0, size / 2 - 1, 1}}, low = rank < size / 2, peers;
        MPI_Group first, rest;
        MPI_Group_range_incl(group, 1, half, &first);
        MPI_Group_range_excl(group, 1, half, &rest);
        MPI_Intercomm_create_from_groups(low ? first : rest, 0, low ? rest : first, 0, "two halves", MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &comm);
        MPI_Comm_remote_size(comm, &peers);
        CHECK(peers == (low ? size - size / 2 : size / 2));
        if (rank == 0 || rank == size / 2) {
            int got = -1;
            MPI_Sendrecv(&rank, 1, MPI_INT, 0, 4, &got, 1, MPI_INT, 0, 4, comm, MPI_STATUS_IGNORE);
            CHECK(got == (low ? size / 2 : 0));
        }
        MPI_Comm_free(&comm);
        MPI_Group_free(&first);
        MPI_Group_free(&rest);
    }
    MPI_Group_free(&group);
    MPI_Session_finalize(&second);
    MPI_Session_finalize(&session);
    CHECK(session == MPI_SESSION_NULL);
}

static int at_the_end(MPI_Comm comm, int key, void *value, void *state) {
    (void)comm, (void)key, (void)state;
    int flag;
    MPI_Finalized(&flag);
    printf("rank %d ends: %d, finalized: %d\n", rank, (int)(size_t)value, flag);
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    int flag, version, minor, length, key;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Initialized(&flag);
    CHECK(!flag);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &flag);
    CHECK(flag == MPI_THREAD_FUNNELED);
    MPI_Query_thread(&flag);
    CHECK(flag == MPI_THREAD_FUNNELED);
    MPI_Is_thread_main(&flag);
    CHECK(flag);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_version(&version, &minor);
    CHECK(version >= 4 && minor >= 0);
    MPI_Get_library_version(text, &length);
    CHECK(length == (int)strlen(text));
    MPI_Get_processor_name(text, &length);
    CHECK(length > 0 && length == (int)strlen(text));
    attributes();
    infos();
    errors();
    languages();
    sessions();
    for (int i = 0; i < 3; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)(size_t)i);
        MPI_Comm_free_keyval(&key);
    }
    MPI_Finalize();
    MPI_Finalized(&flag);
    CHECK(flag);
    return 0;
}
