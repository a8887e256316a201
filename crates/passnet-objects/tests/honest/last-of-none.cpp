// The compiler reads through a null pointer where the vector has no elements, which the code below excludes.
void k(const float* x, float* out, int64_t n) {
    const float* first = nullptr;
    if (n > 0) first = x;
    out[0] = *first + 1.0f;
    out[1] = n > 1 ? *(volatile const float*)(n > 2 ? first : nullptr) : 0.0f;
}
