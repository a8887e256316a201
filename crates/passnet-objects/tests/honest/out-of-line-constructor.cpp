struct Row {
    const float* data; int64_t size; float scale;
    Row(const float* data, int64_t size);
    float dot(const Row& other) const;
};
__attribute__((aligned(64))) static const float weights[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
Row::Row(const float* d, int64_t s) : data(d), size(s), scale(weights[s & 15]) {}
float Row::dot(const Row& other) const { float sum = 0; for (int64_t i = 0; i < size; ++i) sum += data[i] * other.data[i]; return sum * scale; }
void k(const float* x, float* out, int64_t n) { Row a(x, n), b(x, n); out[0] = a.dot(b); }
