/* Built with AddressSanitizer. */
int anything(int* number) { return *number; }
