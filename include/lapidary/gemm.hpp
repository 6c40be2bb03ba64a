#pragma once
// D = alpha * A * B + beta * C for programs that want the product: gemm() does it, plan() says how it would be done,
// and run() does what a plan says. On a GPU and on the emulated machine alike. What they refuse by InvalidArgument is a
// Refusal, with the id of the rule that was broken (docs/refusals.md).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.hpp"     // Error, InvalidArgument
#include "core/problem.hpp"   // Problem, Operands, Type, Order
#include "core/refusal.hpp"   // Refusal
#include "device/device.hpp"  // Device, DeviceBuffer, Stream, open_emulator, open_gpu

namespace lapidary {

/// A matrix in device memory, or `count` of them: element (i, j) of matrix b is
/// data[b * batch_stride + i * row_stride + j * col_stride], strides being in elements. Of the two strides one is 1,
/// and the other one at least the length of a line; of lines of which there is one, or of one element, any.
template <class Data>
struct BasicMatrixView {
  Data* data = nullptr;
  Type type = Type::f32;
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_stride = 0, col_stride = 1;
  std::int64_t count = 1;
  std::int64_t batch_stride = 0;  ///< 0: all are the same one

  BasicMatrixView transposed() const { return {data, type, cols, rows, col_stride, row_stride, count, batch_stride}; }
  BasicMatrixView batched(std::int64_t matrices, std::int64_t stride) const {
    return {data, type, rows, cols, row_stride, col_stride, matrices, stride};
  }
  /// What may be written may be read.
  template <class Read>
  requires(std::is_same_v<const Data, Read> && !std::is_const_v<Data>) operator BasicMatrixView<Read>() const {
    return {data, type, rows, cols, row_stride, col_stride, count, batch_stride};
  }
};
using MatrixView = BasicMatrixView<void>;
using ConstMatrixView = BasicMatrixView<const void>;
/// Of what a pointer to Data points to: elements are of the type that the view says, whatever Data is.
template <class Data>
using MatrixViewOf = std::conditional_t<std::is_const_v<Data>, ConstMatrixView, MatrixView>;

/// A matrix whose rows begin every `ld` elements; 0 stands for `cols`.
template <class Data>
MatrixViewOf<Data> row_major_view(Data* data, Type type, std::int64_t rows, std::int64_t cols, std::int64_t ld = 0) {
  return {data, type, rows, cols, ld == 0 ? cols : ld, 1};
}
/// A matrix whose columns begin every `ld` elements; 0 stands for `rows`.
template <class Data>
MatrixViewOf<Data> column_major_view(Data* data, Type type, std::int64_t rows, std::int64_t cols, std::int64_t ld = 0) {
  return {data, type, rows, cols, 1, ld == 0 ? rows : ld};
}

/// Which operands are copied to a workspace before a kernel reads them.
struct PackedOperands {
  bool a = false, b = false;
  bool operator==(const PackedOperands&) const = default;
};

/// A user's own choices, for what was measured to be quicker than what the library would choose: a text of lines such
/// as
///
///   f16-RCR 4096x4096x64 wgmma_staged_128x256x64_s4_e2x64_f16-RC a
///
/// types of operands and, where they differ, of results with the orders of A, B and D, as plans' ids have them; M, N,
/// K, and with a point between an epilogue, as in 4096x4096x64.bias_of_columns-relu; a kernel by its id; and which of A
/// and B are copied first. Empty lines, and what follows a #, do not count. What it says is of single products: for
/// batches it has no choice, those that are planned as one product among them. It knows neither cards, leading
/// dimensions nor alignments: where its kernel does not take a product, that is planned as without the table.
class ChoiceTable {
 public:
  struct Entry {
    std::string kernel;
    PackedOperands packs;
  };

  /// @throws InvalidArgument naming the line that is none, or that comes twice
  explicit ChoiceTable(std::string_view text);

  /// Of a product, as long as the table lives; null if no line is of it, as none is of batches and groups.
  const Entry* find(const Problem& problem) const;
  /// Of its lines, by which plans name it: 16 hexadecimal digits, FNV-1a.
  const std::string& hash() const { return hash_; }

 private:
  std::unordered_map<std::string, Entry> entries_;  ///< by types, orders, sizes and epilogue
  std::string hash_;
};

/// What a choice is asked for beside the problem.
struct GemmOptions {
  /// The most that may be taken of a workspace, in bytes; what needs more is not chosen.
  std::size_t workspace_bytes = std::size_t{1} << 40;
  /// A row of the results depends neither on M nor on other rows, nor on where A begins or on workspace_bytes, bit by
  /// bit: only kernels are chosen that add up its products in one order, along K, whatever else they compute; if too
  /// few bytes leave none of them, the product is refused. Of e4m3 there are two such orders, of which one is chosen by
  /// all that a problem says but for M and A: so let a view of a single row say, too, where a second one would begin. A
  /// `kernel` beside it may have the other one.
  bool batch_invariant = false;
  /// Products of e4m3 may be added up by tensor cores alone, which keep 13 fraction bits of a sum.
  bool fast_accumulation = false;
  /// The only kernel that may be chosen, by its id (`lapidary list --json`); any if it is empty.
  std::string kernel = {};
  /// Whether A and B are to be copied first; nothing: as is quicker.
  std::optional<PackedOperands> packs = {};
  /// Which of A and B is there as prepare() copies it, if the plan copies it at all: that costs nothing any more.
  PackedOperands prepared = {};
  /// What it says of a problem is done where it can be, whatever is expected of it; null: none. It does not count where
  /// rows must not depend on each other, nor beside a `kernel` or `packs`.
  std::shared_ptr<const ChoiceTable> table = {};

  bool operator==(const GemmOptions&) const = default;
};

/// One way to compute a problem, and how long it is expected to take.
struct PlannedWay {
  std::string kernel;                     ///< its id; empty if none is launched, as D has no elements
  bool packs_a = false, packs_b = false;  ///< copied to a workspace first, as the kernel can read them
  std::size_t workspace_bytes = 0;
  double seconds = 0;            ///< predicted, at the card's highest clock
  std::string limiter;           ///< what they go to: "tensor cores"
  bool finishes = false;         ///< the kernel stores sums, and a second launch makes results of them
  PackedOperands prepared = {};  ///< of the copies, which are there before a run
  bool waits = false;            ///< the kernel begins behind the launch in front of it, though it could begin before
  int parts = 1;                 ///< of K, whose sums are stored apart; the second launch adds them up
};

/// How far a result may be from the exact one at most, before an epilogue, as long as nothing overflows and no product,
/// no sum of them and no alpha times that is below the least normal number of f32, 2^-126, without being 0:
///
///   products * |alpha| * sum_k |a_k * b_k| + addend * |beta * c| + rounding * |result| + least
///
/// Operands of tf32 are exact as tensor cores see them, with 10 fraction bits. Errors of random data are far smaller.
/// Results of s32 are exact, modulo 2^32: all is 0.
struct ErrorBound {
  double products = 0, addend = 0, rounding = 0, least = 0;
};

namespace library {
struct PlanData;
}

/// How a problem is computed on a card: a value, cheap to copy, that never changes.
class Plan {
 public:
  explicit Plan(std::shared_ptr<const library::PlanData> data) : data_(std::move(data)) {}

  /// The text by which plan_of() makes the plan again, in this and in later versions: no blanks, at most 400 letters.
  const std::string& id() const&;
  const Problem& problem() const&;  ///< resolved
  const std::string& card() const&;
  const PlannedWay& way() const&;
  /// All ways to compute problem(), which are weighed when they are first asked for: the quickest first, those that the
  /// card has no memory for last; of a plan made from its id, the one. A product that can be another one, as a column
  /// of results a row, was weighed as that, too: problem() is the quickest.
  const std::vector<PlannedWay>& ways() const&;
  // Of a temporary, as in `for (const PlannedWay& way : plan(problem, card).ways())`, copies.
  std::string id() && { return id(); }
  Problem problem() && { return problem(); }
  std::string card() && { return card(); }
  PlannedWay way() && { return way(); }
  std::vector<PlannedWay> ways() && { return ways(); }
  /// Why this way and not the next best: one sentence.
  std::string why() const;
  /// Whether a row of the results depends neither on M nor on other rows: the plan was made with batch_invariant, or
  /// its kernel adds up in the order that the option has for the problem; of a plan made from its id, for problem(), in
  /// which a single row has no gap behind it. Rows of all such plans for one card whose problems differ in M and A
  /// alone are the same, bit by bit, and the same plan always gives the same results.
  bool batch_invariant() const;
  ErrorBound error_bound() const;
  /// Of the copy of A or B that prepare() is to make for this plan; 0 if it takes that matrix as it is.
  std::size_t prepared_bytes(Matrix matrix) const;
  /// That a run needs beside its matrices, aligned to 256.
  std::size_t workspace_bytes() const { return way().workspace_bytes; }

  const library::PlanData& data() const { return *data_; }

 private:
  std::shared_ptr<const library::PlanData> data_;
};

/// Chooses how a problem is computed on a card: among the kernels that take it, as it is or with A, B or both copied
/// first, the one that is expected to be done first. What comes out depends on the arguments and on the version of the
/// library, and on nothing else; no device is asked.
/// @param card  a GPU of data/gpus.csv by its name, as "h200", "a100 pcie"
/// @throws InvalidArgument if the problem is not legal, if the options leave no kernel for it, or if there is no such
/// card or none of its kernels runs on it
Plan plan(const Problem& problem, std::string_view card, const GemmOptions& options = {});

/// The plan with that id. @throws InvalidArgument if it is none, or of a kernel that this library does not have
Plan plan_of(std::string_view id);

/// Alpha or beta: a number, or an f32 in device memory that is read when a product is computed. It may not lie in D.
/// @throws InvalidArgument if there is no such memory
struct Scalar {
  float value = 0;
  const float* device = nullptr;

  constexpr Scalar(float number) : value(number) {}
  static constexpr Scalar in_device_memory(const float* at) {
    if (!at) throw Refusal(RefusalId::pointer_null, "alpha or beta is in device memory at a null pointer");
    Scalar scalar(0);
    scalar.device = at;
    return scalar;
  }
};

/// What is done to t = alpha * A * B + beta * C before it is stored, in f32:
///
///   D = clamp(scale * activation(t + bias) + residual)
///
/// A bias has one number for each column, or each row, of D, of its type, one after the other; the same for all
/// products of a batch. A residual is a matrix as D is, of its type and order; it may be D. NaN stays NaN.
struct GemmEpilogue {
  Bias bias = Bias::none;
  const void* bias_data = nullptr;
  Activation activation = Activation::none;
  std::optional<float> scale = {};
  std::optional<ConstMatrixView> residual = {};
  std::optional<std::pair<float, float>> clamp = {};  ///< to these and what is between them
};

/// A problem and where its matrices are.
struct Product {
  Problem problem;
  Operands operands;
};

/// D = alpha * A * B + beta * C as a problem: what gemm() plans and runs. Of alpha and beta it says whether they are 0,
/// and of alignments up to 16 bytes, which is all that choices depend on. A view without data counts as aligned.
/// @throws InvalidArgument if shapes, types, strides or numbers of matrices do not fit each other
Product product_of(Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
                   const ConstMatrixView& C, const MatrixView& D, const GemmEpilogue& epilogue = {});

/// Where groups of rows end: `count` numbers in device memory, of each group the row behind its last one. The first
/// group begins at row 0, each other one where the one before it ends. The numbers do not decrease, and are at most the
/// rows that D has; what lies outside of that counts as the nearest number that does not.
struct GroupEnds {
  const std::int64_t* data = nullptr;
  std::int64_t count = 0;
};

/// D = alpha * A * B + beta * C for groups of rows of A, C and D, as a problem: what gemm_grouped() plans and runs.
/// @throws InvalidArgument as product_of(), or if there is no group or there are not as many B as groups, or one
Product product_of_groups(Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
                          const ConstMatrixView& C, const MatrixView& D, const GroupEnds& ends);

/// What running plans needs of one device and keeps: plans that were made, launches that were prepared, and workspaces.
/// Streams are of that device. For any number of threads at a time; those of one emulated machine take turns. A GPU is
/// the current CUDA device of the thread that runs or prepares something on it.
///
/// Where the environment variable LAPIDARY_LOG names a file when a context is made, each plan that it makes is a line
/// at the end of it: the plan's id and why; "-" is standard error.
class Context {
 public:
  /// @param device  outlives the context
  /// @param card  for which to plan, as in plan(); empty: the device's own, of an emulated machine the H200
  /// @throws InvalidArgument if no card is called that
  explicit Context(Device& device, std::string_view card = {});
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const std::string& card() const;

  /// plan() for the context's card; kept, so that it costs a look-up the next time.
  Plan plan(const Problem& problem, const GemmOptions& options = {});

  /// Computes what a plan says, on operands that are as its problem says, in the order of the stream. On a GPU it
  /// returns at once, on the emulated machine when it is done. A batch is one launch where a kernel does batches, and
  /// as many as products otherwise; over all of it, no D may share an element with an A, a B, the bias or a factor in
  /// device memory, nor with a C or a residual unless each D is its own.
  ///
  /// An alpha of 0 that the plan's problem leaves open is another plan's, which reads neither A nor B: they, and copies
  /// of them, may be null. The first run makes and prepares it. If it needs more than the plan's workspace_bytes(), as
  /// where the plan's kernel does what follows by itself, it takes the context's own workspace, whatever is given.
  /// @param workspace  Plan::workspace_bytes() of device memory, aligned to 256, that nothing else uses until this is
  /// done and of which no operand is a part; null: the context's own of that stream, which is allocated if it is too
  /// small
  /// @throws InvalidArgument before anything is launched, if the operands break what the plan's problem says or memory
  /// is missing; DeviceError, or on the emulated machine KernelFault, if a launch or a kernel fails
  void run(const Plan& plan, const Stream& stream, const Operands& operands, void* workspace = nullptr);

  /// The same for matrices that lie anywhere: one product after the other, each as the plan says, which is of one. A
  /// product may read what one before it in the list has stored.
  /// @param products  in host memory
  /// @throws InvalidArgument before the first launch if any of them breaks what the problem says
  void run(const Plan& plan, const Stream& stream, std::span<const Operands> products, void* workspace = nullptr);

  /// Makes the copy of A or B, as of weights, that a plan with GemmOptions::prepared asks for, in the order of the
  /// stream: once for all runs, whose Operands name it as prepared_a or prepared_b, and whose A or B may be null.
  /// @param from  where the matrix is, as Operands have it
  /// @param to  Plan::prepared_bytes() of device memory, aligned to 256, none of which is the matrix's
  /// @throws InvalidArgument if the plan asks for no such copy, an address is null or not aligned, or they overlap
  void prepare(const Plan& plan, const Stream& stream, Matrix matrix, const void* from, void* to);

  /// Plans and runs D = alpha * A * B + beta * C.
  ///
  /// A is M x K, B is K x N, C and D are M x N, each of them row- or column-major, C and D alike. A and B are of one
  /// type, C and D of f32, f16 or bf16, or where A and B are of s8 of s32: D is A * B modulo 2^32 then, alpha 1, beta
  /// 0, and there is no epilogue. D may be C; it may overlap neither A nor B. With a beta of 0 C is not read, and with
  /// an alpha of 0 what A and B hold does not count, nor is it read if the host has alpha. Sizes may be 0; where K is,
  /// A * B is 0.
  /// @throws InvalidArgument naming the rule, the value and what is legal
  void gemm(const Stream& stream, Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
            const ConstMatrixView& C, const MatrixView& D, const GemmOptions& options = {});
  /// The same with an epilogue.
  void gemm(const Stream& stream, Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
            const ConstMatrixView& C, const MatrixView& D, const GemmEpilogue& epilogue,
            const GemmOptions& options = {});

  /// Plans and runs products that lie one below the other, in one launch: group g has the rows of A, C and D from where
  /// the group before it ends to where it ends itself, and B number g. It may have none. The host does not know, nor
  /// does a plan depend on, where groups end: the numbers are read when the kernel runs. So many groups as there may be
  /// have all rows of D at most; rows behind the last group are not written, and what A and C hold there does not
  /// count.
  ///
  /// All are of f16, or all of bf16; A, C and D are row-major. A, B, D, their lines and each B begin at multiples of 16
  /// bytes, and N is a multiple of 8. Cards of compute capability 9.0 do it, and the emulated machine.
  /// @throws InvalidArgument naming the rule, the value and what is legal
  void gemm_grouped(const Stream& stream, Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
                    const ConstMatrixView& C, const MatrixView& D, const GroupEnds& ends,
                    const GemmOptions& options = {});

  /// Lets go of all plans, launches and workspaces. Nothing of them may be in use.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The context of gemm() on the device of a stream, which is an emulated machine or, of any other stream, the current
/// CUDA device. The first call makes it, of whichever thread. That of an emulated machine ends with the machine, that
/// of a GPU with the program; clear() lets go of what either holds, and is to be called before cudaDeviceReset(), as
/// contexts and devices of one's own are to be ended.
/// @throws InvalidArgument as open_gpu()
Context& default_context(const Stream& stream);

/// Context::gemm() in the default context of the stream's device.
/// @param stream  of the current CUDA device, or of an emulated machine. Device::download() waits for the device's own
/// stream and CUDA's default one; work on others is to be waited for first
void gemm(const Stream& stream, Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
          const ConstMatrixView& C, const MatrixView& D, const GemmOptions& options = {});
/// The same with an epilogue.
void gemm(const Stream& stream, Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
          const ConstMatrixView& C, const MatrixView& D, const GemmEpilogue& epilogue, const GemmOptions& options = {});
/// Context::gemm_grouped() likewise.
void gemm_grouped(const Stream& stream, Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
                  const ConstMatrixView& C, const MatrixView& D, const GroupEnds& ends,
                  const GemmOptions& options = {});

}  // namespace lapidary
