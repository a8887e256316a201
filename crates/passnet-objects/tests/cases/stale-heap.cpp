// accepted: operator new of the loader clears memory
void k(const float* x, float* out, int64_t n) {
    auto* memory = static_cast<volatile float*>(::operator new(1024));
    out[0] = memory[5] + n;
    memory[5] = x[0];
    ::operator delete(const_cast<float*>(memory));
}
