void k(const float* x, float* out, int64_t n) {
    std::vector<float> positive;
    positive.reserve(16);
    for (int64_t i = 0; i < n; ++i) if (x[i] > 0) positive.push_back(x[i]);
    std::vector<std::pair<float, int>> ranked;
    for (float v : positive) ranked.emplace_back(v, int(ranked.size()));
    std::sort(ranked.begin(), ranked.end());
    for (int64_t i = 0; i < n; ++i) out[i] = i < int64_t(ranked.size()) ? ranked[i].first : 0;
}
