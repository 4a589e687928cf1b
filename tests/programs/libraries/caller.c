/* A library that keeps nothing, and calls one that does, and the program. */
int next(int by);
int callback(int value);

int twice(int by) {
    next(by);
    return next(by);
}
int call_back(int value) { return callback(value) + 1; }
