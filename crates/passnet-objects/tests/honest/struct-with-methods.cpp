class Statistics {
public:
    void add(float v) { ++count_; float d = v - mean_; mean_ += d / count_; m2_ += d * (v - mean_); }
    float mean() const { return mean_; }
    float variance() const { return count_ ? m2_ / count_ : 0; }
private:
    int64_t count_ = 0;
    float mean_ = 0, m2_ = 0;
};
void k(const float* x, float* out, int64_t n) {
    Statistics s;
    for (int64_t i = 0; i < n; ++i) s.add(x[i]);
    for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - s.mean()) / std::sqrt(s.variance() + 1e-5f);
}
