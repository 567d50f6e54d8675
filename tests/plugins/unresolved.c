/* Needs a function that nobody has. */
int a_function_that_nobody_has(void);
int call_it(void) { return a_function_that_nobody_has(); }
