// Entry points of kernels: functions that read the arguments of a kernel from memory, one 64-bit word each, and call it.
// The kernel itself is `noipa`, so that it is compiled once and called by name.
namespace passnet_entries {
template <class T>
__attribute__((always_inline)) inline T from_word(uint64_t word) {
    T value;
    std::memcpy(&value, &word, sizeof value);  // The low bytes come first.
    return value;
}

template <class... Types, size_t... places>
__attribute__((always_inline)) inline void call(
    void (*function)(Types...), const uint64_t* words, std::index_sequence<places...>) {
    function(from_word<Types>(words[places])...);
}

template <class... Types>
__attribute__((always_inline)) inline void call(void (*function)(Types...), const uint64_t* words) {
    call(function, words, std::index_sequence_for<Types...>());
}
}  // namespace passnet_entries

