// refused: sections
template <class T> struct Memo { static T last; };
template <class T> T Memo<T>::last;
void k(const float* x, float* out, int64_t n) { out[0] = Memo<float>::last; Memo<float>::last = x[0] + n; }
