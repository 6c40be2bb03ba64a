#pragma once
#include <cstdint>
#include <type_traits>

#include "core/types.hpp"
#include "layout/matrix_descriptor.hpp"
#include "ptx/call_site.hpp"
#include "ptx/cuda.hpp"
#include "ptx/mma.hpp"
#include "ptx/shared_address.hpp"

// wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", sm_90a): a warpgroup, 4 warps the first of which
// is a multiple of 4 in its block, multiplies matrices in shared memory while its threads go on. All of its threads
// execute each of these instructions together. In order:
//
//   wgmma_fence(d)          before the first product, and whenever other code has touched d or a
//   wgmma_mma_async(...)    as many as are wanted; those that add to one d follow each other without a fence
//   wgmma_commit_group()    makes one group of them
//   wgmma_wait_group<n>(d)  until then nobody touches d, a or the shared memory that they read

namespace lapidary::inline LAPIDARY_BUILD {

namespace wgmma_detail {
template <class A, class B, class D>
constexpr bool types_go_together = mma_detail::types_go_together<A, B, D>
                                       ? !std::is_same_v<A, double>
                                       : mma_detail::is_fp8<A> && mma_detail::is_fp8<B> && std::is_same_v<D, f16>;
}  // namespace wgmma_detail

/// A form of wgmma.mma_async, D = A * B + D or D = A * B, with A of 64 x K and B of K x N elements; K is 32 bytes.
/// layout/fragment.hpp (wgmma_d, wgmma_a) tells which elements a thread's registers hold.
///
///   A and B             D             N
///   f16                 float, f16    8, 16, 24, ..., 256
///   bf16, tf32          float         8, 16, 24, ..., 256
///   e4m3, e5m2          float, f16    8, 16, 24, ..., 256        A and B may differ
///   int8_t, uint8_t     int32_t       8, 16, 24, 32, 48, ..., 256    A and B may differ
///
/// Where elements have 16 bits, B and an A in shared memory may be MN-major. Products of `negate_a` or `negate_b` count
/// negatively; integers' do not.
template <class A_, class B_, class D_, int N_, Major a_major_ = Major::k, Major b_major_ = Major::k,
          bool negate_a_ = false, bool negate_b_ = false>
struct Wgmma {
  using A = A_;
  using B = B_;
  using D = D_;
  static constexpr int M = 64, N = N_, K = static_cast<int>(32 / sizeof(A));
  static constexpr Major a_major = a_major_, b_major = b_major_;
  static constexpr bool negate_a = negate_a_, negate_b = negate_b_;

  /// Of a thread: those of D are the elements themselves, or two f16 each; those of A hold `packed` elements.
  using Accumulator = std::conditional_t<std::is_same_v<D, f16>, std::uint32_t, D>;
  static constexpr int d_registers = N / (std::is_same_v<D, f16> ? 4 : 2);
  static constexpr int packed = static_cast<int>(4 / sizeof(A)), a_registers = 4;

  static constexpr bool integer = mma_detail::is_8_bit_integer<A>, transposes = sizeof(A) == 2;
  static_assert(wgmma_detail::types_go_together<A, B, D>, "wgmma has no such types");
  static_assert(N >= 8 && N <= 256 && N % 8 == 0, "N is a multiple of 8, from 8 to 256");
  static_assert(!integer || N % 16 == 0 || N <= 24, "N of integers is 8, 24 or a multiple of 16");
  static_assert(transposes || (a_major == Major::k && b_major == Major::k), "elements of 16 bits alone are MN-major");
  static_assert(!integer || (!negate_a && !negate_b), "integers are not negated");
};

#if defined(__CUDACC__)

namespace wgmma_detail {

LAPIDARY_DEVICE void pin(float& reg) { asm volatile("" : "+f"(reg)::"memory"); }
LAPIDARY_DEVICE void pin(std::int32_t& reg) { asm volatile("" : "+r"(reg)::"memory"); }
LAPIDARY_DEVICE void pin(std::uint32_t& reg) { asm volatile("" : "+r"(reg)::"memory"); }
/// Orders what the compiler does with registers before and after: wgmma writes and reads them between two statements
/// that name them.
template <class T, int count>
LAPIDARY_DEVICE void pin(T (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) pin(registers[i]);
}

// Texts that the compiler puts into an instruction.
template <int n>
struct Decimal {
  static constexpr char text[] = {'0' + n / 100, '0' + n / 10 % 10, '0' + n % 10, 0};
};
template <int n>
requires(n >= 10 && n < 100) struct Decimal<n> {
  static constexpr char text[] = {'0' + n / 10, '0' + n % 10, 0};
};
template <int n>
requires(n < 10) struct Decimal<n> {
  static constexpr char text[] = {'0' + n, 0};
};

/// An operand that some types have: 0, 1 or -1.
template <bool exists, int value>
struct Immediate {
  static constexpr char text[] = "";
};
template <>
struct Immediate<true, 0> {
  static constexpr char text[] = ", 0";
};
template <>
struct Immediate<true, 1> {
  static constexpr char text[] = ", 1";
};
template <>
struct Immediate<true, -1> {
  static constexpr char text[] = ", -1";
};

/// What follows the register before number `next` in a list of `count`: the rest of all 128 becomes a comment.
template <int next, int count>
struct Separator {
  static constexpr char text[] = ", ";
};
template <int count>
struct Separator<count, count> {
  static constexpr char text[] = "/*";
};
template <int count>
requires(count < 128) struct Separator<128, count> {
  static constexpr char text[] = "*/";
};
template <>
struct Separator<128, 128> {
  static constexpr char text[] = "";
};

/// Register `index`, or one that stands for those that the instruction does not have.
template <int index, class T, int count>
LAPIDARY_DEVICE T& register_or(T (&registers)[count], T& none) {
  if constexpr (index < count)
    return registers[index];
  else
    return none;
}

// Registers 0 to 127 of D in pairs, each with the number of the operand that separates it from the next.
// clang-format off
#define LAPIDARY_WGMMA_REGISTERS(X, AND) \
  X(0, 1, 128) AND X(2, 3, 129) AND X(4, 5, 130) AND X(6, 7, 131) AND \
  X(8, 9, 132) AND X(10, 11, 133) AND X(12, 13, 134) AND X(14, 15, 135) AND \
  X(16, 17, 136) AND X(18, 19, 137) AND X(20, 21, 138) AND X(22, 23, 139) AND \
  X(24, 25, 140) AND X(26, 27, 141) AND X(28, 29, 142) AND X(30, 31, 143) AND \
  X(32, 33, 144) AND X(34, 35, 145) AND X(36, 37, 146) AND X(38, 39, 147) AND \
  X(40, 41, 148) AND X(42, 43, 149) AND X(44, 45, 150) AND X(46, 47, 151) AND \
  X(48, 49, 152) AND X(50, 51, 153) AND X(52, 53, 154) AND X(54, 55, 155) AND \
  X(56, 57, 156) AND X(58, 59, 157) AND X(60, 61, 158) AND X(62, 63, 159) AND \
  X(64, 65, 160) AND X(66, 67, 161) AND X(68, 69, 162) AND X(70, 71, 163) AND \
  X(72, 73, 164) AND X(74, 75, 165) AND X(76, 77, 166) AND X(78, 79, 167) AND \
  X(80, 81, 168) AND X(82, 83, 169) AND X(84, 85, 170) AND X(86, 87, 171) AND \
  X(88, 89, 172) AND X(90, 91, 173) AND X(92, 93, 174) AND X(94, 95, 175) AND \
  X(96, 97, 176) AND X(98, 99, 177) AND X(100, 101, 178) AND X(102, 103, 179) AND \
  X(104, 105, 180) AND X(106, 107, 181) AND X(108, 109, 182) AND X(110, 111, 183) AND \
  X(112, 113, 184) AND X(114, 115, 185) AND X(116, 117, 186) AND X(118, 119, 187) AND \
  X(120, 121, 188) AND X(122, 123, 189) AND X(124, 125, 190) AND X(126, 127, 191)

// clang-format on

// The instruction for all types and all N: D is operands 0 to 127, of which the text has as many as there are.
#define LAPIDARY_WGMMA_TEXT(i, j, separator) "%" #i ", %" #j "%" #separator
#define LAPIDARY_WGMMA_D_FLOAT(i, j, separator) "+f"(register_or<i>(d, none)), "+f"(register_or<j>(d, none))
#define LAPIDARY_WGMMA_D_BITS(i, j, separator) "+r"(register_or<i>(d, none)), "+r"(register_or<j>(d, none))
#define LAPIDARY_WGMMA_SEPARATOR(i, j, separator) "C"(Separator<j + 1, Form::d_registers>::text)
#define LAPIDARY_WGMMA_COMMA ,
#define LAPIDARY_WGMMA_ASM(D_OPERAND, A_TEXT, TRANSPOSE_A, ...)                                                  \
  asm volatile(                                                                                                  \
      "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %193, 0;\n"                                            \
      "wgmma.mma_async.sync.aligned.m64n%194k%195%196%197%198\n{" LAPIDARY_WGMMA_REGISTERS(                      \
          LAPIDARY_WGMMA_TEXT, ) "},\n" A_TEXT ", %192, accumulate%199%200" TRANSPOSE_A "%202;\n}"               \
      : LAPIDARY_WGMMA_REGISTERS(D_OPERAND, LAPIDARY_WGMMA_COMMA)                                                \
      : LAPIDARY_WGMMA_REGISTERS(LAPIDARY_WGMMA_SEPARATOR, LAPIDARY_WGMMA_COMMA), "l"(b),                        \
        "r"(static_cast<int>(accumulate)), "C"(Decimal<Form::N>::text), "C"(Decimal<Form::K>::text),             \
        "C"(Name<typename Form::D>::text), "C"(Name<typename Form::A>::text), "C"(Name<typename Form::B>::text), \
        "C"(Immediate < !Form::integer, Form::negate_a ? -1 : 1 > ::text),                                       \
        "C"(Immediate < !Form::integer, Form::negate_b ? -1 : 1 > ::text),                                       \
        "C"(Immediate<Form::transposes, Form::a_major == Major::mn>::text),                                      \
        "C"(Immediate<Form::transposes, Form::b_major == Major::mn>::text), __VA_ARGS__)
}  // namespace wgmma_detail

/// wgmma.fence: orders accesses to registers between wgmma.mma_async and other code. The registers are those of arrays,
/// also of arrays.
LAPIDARY_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
template <class T, int count>
LAPIDARY_DEVICE void wgmma_fence(T (&registers)[count]) {
  wgmma_detail::pin(registers);
  wgmma_fence();
}

/// wgmma.commit_group: the products since the last commit become one group.
LAPIDARY_DEVICE void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// wgmma.wait_group: waits until at most `pending` of the newest groups are not complete. The registers are those that
/// complete products have written or read.
template <int pending>
LAPIDARY_DEVICE void wgmma_wait_group() {
  static_assert(pending >= 0 && pending <= 7, "wgmma.wait_group leaves 0 to 7 groups pending");
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
template <int pending, class T, int count>
LAPIDARY_DEVICE void wgmma_wait_group(T (&registers)[count]) {
  wgmma_wait_group<pending>();
  wgmma_detail::pin(registers);
}

/// wgmma.mma_async with A and B in shared memory, of which descriptors tell (layout/matrix_descriptor.hpp). All threads
/// give the same ones. D = A * B + D, or D = A * B if not `accumulate`.
template <class Form>
LAPIDARY_DEVICE void wgmma_mma_async(typename Form::Accumulator (&d)[Form::d_registers], std::uint64_t a,
                                     std::uint64_t b, bool accumulate) {
  using namespace wgmma_detail;
  using mma_detail::Name;
  typename Form::Accumulator none = 0;
  if constexpr (std::is_same_v<typename Form::Accumulator, float>)
    LAPIDARY_WGMMA_ASM(LAPIDARY_WGMMA_D_FLOAT, "%203", "%201", "l"(a));
  else
    LAPIDARY_WGMMA_ASM(LAPIDARY_WGMMA_D_BITS, "%203", "%201", "l"(a));
}

/// The same with A in registers, K-major.
template <class Form>
LAPIDARY_DEVICE void wgmma_mma_async(typename Form::Accumulator (&d)[Form::d_registers],
                                     const std::uint32_t (&a)[Form::a_registers], std::uint64_t b, bool accumulate) {
  static_assert(Form::a_major == Major::k, "an A in registers has no other order");
  using namespace wgmma_detail;
  using mma_detail::Name;
  typename Form::Accumulator none = 0;
  if constexpr (std::is_same_v<typename Form::Accumulator, float>)
    LAPIDARY_WGMMA_ASM(LAPIDARY_WGMMA_D_FLOAT, "{%203, %204, %205, %206}", "", "r"(a[0]), "r"(a[1]), "r"(a[2]),
                       "r"(a[3]));
  else
    LAPIDARY_WGMMA_ASM(LAPIDARY_WGMMA_D_BITS, "{%203, %204, %205, %206}", "", "r"(a[0]), "r"(a[1]), "r"(a[2]),
                       "r"(a[3]));
}

#undef LAPIDARY_WGMMA_REGISTERS
#undef LAPIDARY_WGMMA_TEXT
#undef LAPIDARY_WGMMA_D_FLOAT
#undef LAPIDARY_WGMMA_D_BITS
#undef LAPIDARY_WGMMA_SEPARATOR
#undef LAPIDARY_WGMMA_COMMA
#undef LAPIDARY_WGMMA_ASM

#else

namespace wgmma_detail {
template <class Form>
constexpr emulator::abi::WgmmaForm form = {.operation = {.instruction = emulator::TensorOperation::Instruction::wgmma,
                                                         .a = emulator::number_of<typename Form::A>,
                                                         .b = emulator::number_of<typename Form::B>,
                                                         .d = emulator::number_of<typename Form::D>,
                                                         .M = Form::M,
                                                         .N = Form::N,
                                                         .K = Form::K},
                                           .a_major = Form::a_major,
                                           .b_major = Form::b_major,
                                           .negate_a = Form::negate_a,
                                           .negate_b = Form::negate_b};
}  // namespace wgmma_detail

LAPIDARY_DEVICE void wgmma_fence(CallSite where = std::source_location::current()) {
  emulator::abi::wgmma_fence(nullptr, 0, where);
}
template <class T, int count>
LAPIDARY_DEVICE void wgmma_fence(T (&registers)[count], CallSite where = std::source_location::current()) {
  emulator::abi::wgmma_fence(registers, sizeof(registers), where);
}

LAPIDARY_DEVICE void wgmma_commit_group(CallSite where = std::source_location::current()) {
  emulator::abi::wgmma_commit_group(where);
}

template <int pending>
LAPIDARY_DEVICE void wgmma_wait_group(CallSite where = std::source_location::current()) {
  static_assert(pending >= 0 && pending <= 7, "wgmma.wait_group leaves 0 to 7 groups pending");
  emulator::abi::wgmma_wait_group(pending, where);
}
template <int pending, class T, int count>
LAPIDARY_DEVICE void wgmma_wait_group(T (&)[count], CallSite where = std::source_location::current()) {
  wgmma_wait_group<pending>(where);
}

template <class Form>
LAPIDARY_DEVICE void wgmma_mma_async(typename Form::Accumulator (&d)[Form::d_registers], std::uint64_t a,
                                     std::uint64_t b, bool accumulate,
                                     CallSite where = std::source_location::current()) {
  emulator::abi::wgmma_mma_async(wgmma_detail::form<Form>, d, nullptr, a, b, accumulate, where);
}

template <class Form>
LAPIDARY_DEVICE void wgmma_mma_async(typename Form::Accumulator (&d)[Form::d_registers],
                                     const std::uint32_t (&a)[Form::a_registers], std::uint64_t b, bool accumulate,
                                     CallSite where = std::source_location::current()) {
  static_assert(Form::a_major == Major::k, "an A in registers has no other order");
  emulator::abi::wgmma_mma_async(wgmma_detail::form<Form>, d, a, 0, b, accumulate, where);
}

#endif

}  // namespace lapidary::inline LAPIDARY_BUILD
