#pragma once
// One kernel source is compiled up to three times, and all of them may be linked into one program:
//
//   plain         the host compiler, untouched: numbers at full speed, or `-O0 -g` for a debugger
//   instrumented  the host compiler, every memory access reported to the emulated machine: counts and checks
//   gpu           nvcc
//
// The linker merges equal inline functions and templates from different objects and keeps any one of them, so
// counts would vanish from one build or appear in another. Everything that a kernel includes therefore lives in an
// inline namespace named after the build; types that cross between builds are plain data without functions and
// stay outside of it.
#if defined(__CUDACC__)
#define LAPIDARY_BUILD gpu
#elif defined(LAPIDARY_INSTRUMENTED)
#define LAPIDARY_BUILD instrumented
#else
#define LAPIDARY_BUILD plain
#endif

// Callable from host and device code.
#if defined(__CUDACC__)
#define LAPIDARY_HD __host__ __device__
#else
#define LAPIDARY_HD
#endif
