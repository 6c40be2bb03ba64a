#include "bench/peer.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#if LAPIDARY_WITH_CUBLAS
#include "bench/cublas_lt.hpp"
#endif

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <type_traits>

#include "core/error.hpp"

namespace lapidary::bench {

#if LAPIDARY_WITH_CUBLAS
namespace {

/// Of a program that has found them.
const CublasLt& cublas_lt() { return *CublasLt::loaded(); }

void check_cublas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(std::string(what) + ": " + cublas_lt().GetStatusString(status));
}

/// Objects of the library, by their handles.
struct Destroy {
  void operator()(cublasLtHandle_t library) const { cublas_lt().Destroy(library); }
  void operator()(cublasLtMatmulDesc_t operation) const { cublas_lt().MatmulDescDestroy(operation); }
  void operator()(cublasLtMatrixLayout_t matrix) const { cublas_lt().MatrixLayoutDestroy(matrix); }
  void operator()(cublasLtMatmulPreference_t preference) const { cublas_lt().MatmulPreferenceDestroy(preference); }
};
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy>;
using Library = Owned<cublasLtHandle_t>;
using Operation = Owned<cublasLtMatmulDesc_t>;
using Matrix = Owned<cublasLtMatrixLayout_t>;
using Preference = Owned<cublasLtMatmulPreference_t>;

cudaDataType_t data_type(Type type) {
  switch (type) {
    case Type::f16: return CUDA_R_16F;
    case Type::bf16: return CUDA_R_16BF;
    case Type::e4m3: return CUDA_R_8F_E4M3;
    case Type::s8: return CUDA_R_8I;
    default: return CUDA_R_32F;
  }
}

/// Bytes that a base is a multiple of, as far as they matter.
std::uint32_t alignment(int aligned) { return static_cast<std::uint32_t>(std::min(aligned, 256)); }

class Cublas {
 public:
  Cublas(const Stream& stream, const GemmKind& kind) : kind_(kind), stream_(static_cast<cudaStream_t>(stream.cuda)) {
    cublasLtHandle_t handle;
    check_cublas(cublas_lt().Create(&handle), "cublasLtCreate");
    library_.reset(handle);
    if (cudaMalloc(&workspace_, workspace_bytes) != cudaSuccess)
      throw InvalidArgument("there is no GPU memory left for the workspace of cuBLAS, 64 MiB");
  }
  ~Cublas() { cudaFree(workspace_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  static std::string version() {
    int parts[3] = {};
    constexpr libraryPropertyType names[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
    for (int i = 0; i < 3; ++i) check_cublas(cublas_lt().GetProperty(names[i], &parts[i]), "cublasLtGetProperty");
    return "cuBLAS " + std::to_string(parts[0]) + "." + std::to_string(parts[1]) + "." + std::to_string(parts[2]);
  }

  struct Algorithm {
    cublasLtMatmulAlgo_t algorithm;
    bool fast_accumulation;  ///< Contestant::fast_accumulation
  };
  const std::vector<Algorithm>& algorithms(const Problem& p) {
    static const std::vector<Algorithm> none;
    // Sums of integers are scaled by integers, and stay what they are.
    if (integers() && (p.alpha != Factor::one || p.reads_c())) return none;
    return plan(p).algorithms;
  }
  bool integers() const { return kind_.type == Type::s8; }

  /// @param algorithm  of those for this problem
  Contestant::Launch prepare(const Problem& p, std::size_t algorithm) {
    const Plan& made = plan(p);
    if (algorithm >= made.algorithms.size()) throw DeviceError("cuBLAS has no algorithm for this problem");
    return
        [this, &made, &chosen = made.algorithms[algorithm], reads_c = p.reads_c()](const Stream&, const Operands& o) {
          constexpr std::int32_t one = 1, zero = 0;
          const void* const alpha = integers() ? static_cast<const void*>(&one) : &o.alpha;
          const void* const beta = integers() ? static_cast<const void*>(&zero) : &o.beta;
          check_cublas(cublas_lt().Matmul(library_.get(), made.operation[chosen.fast_accumulation].get(), alpha, o.B,
                                          made.b.get(), o.A, made.a.get(), beta, reads_c ? o.C : o.D,
                                          (reads_c ? made.c : made.d).get(), o.D, made.d.get(), &chosen.algorithm,
                                          workspace_, workspace_bytes, stream_),
                       "cublasLtMatmul");
        };
  }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{64} << 20;
  static constexpr int most_algorithms = 32;

  /// What a call needs beside the operands.
  struct Plan {
    Operation operation[2];  ///< one that promotes the sums of FP8, and one by fast accumulation
    Matrix a, b, c, d;
    std::vector<Algorithm> algorithms;
  };

  /// Of a matrix whose `lines`, `length` elements each, are `ld` elements apart. cuBLAS calls them columns.
  static Matrix matrix(cudaDataType_t type, std::int64_t length, std::int64_t lines, std::int64_t ld) {
    cublasLtMatrixLayout_t layout;
    check_cublas(cublas_lt().MatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(length),
                                                static_cast<std::uint64_t>(lines), ld),
                 "cublasLtMatrixLayoutCreate");
    return Matrix(layout);
  }

  static void set_batch(cublasLtMatrixLayout_t layout, std::int64_t count, std::int64_t stride) {
    const auto set = [&](cublasLtMatrixLayoutAttribute_t which, const auto& value) {
      check_cublas(cublas_lt().MatrixLayoutSetAttribute(layout, which, &value, sizeof(value)), "layout");
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(count));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }

  /// cuBLAS sees the transposes of row-major matrices: D^T = B^T A^T, N x M.
  Plan make_plan(const Problem& p) const {
    const cublasComputeType_t compute = kind_.type == Type::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                        : integers()             ? CUBLAS_COMPUTE_32I
                                                                 : CUBLAS_COMPUTE_32F;
    const cudaDataType_t operand = data_type(kind_.type), scalar = integers() ? CUDA_R_32I : CUDA_R_32F;
    const cudaDataType_t result = integers() ? CUDA_R_32I : data_type(kind_.result);
    Plan plan{.operation = {},
              .a = kind_.a == Order::row_major ? matrix(operand, p.K, p.M, p.lda) : matrix(operand, p.M, p.K, p.lda),
              .b = kind_.b == Order::row_major ? matrix(operand, p.N, p.K, p.ldb) : matrix(operand, p.K, p.N, p.ldb),
              .c = matrix(result, p.N, p.M, p.reads_c() ? p.ldc : p.ldd),
              .d = matrix(result, p.N, p.M, p.ldd),
              .algorithms = {}};
    for (const auto& [layout, stride] : {std::pair(plan.a.get(), p.batch.stride_a),
                                         {plan.b.get(), p.batch.stride_b},
                                         {plan.c.get(), p.reads_c() ? p.batch.stride_c : p.batch.stride_d},
                                         {plan.d.get(), p.batch.stride_d}})
      set_batch(layout, p.batch.count, stride);
    cublasLtMatmulPreference_t handle;
    check_cublas(cublas_lt().MatmulPreferenceCreate(&handle), "cublasLtMatmulPreferenceCreate");
    const Preference preference(handle);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, const auto& value) {
      check_cublas(cublas_lt().MatmulPreferenceSetAttribute(handle, which, &value, sizeof(value)), "preference");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(p.aligned.B));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(p.aligned.A));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(p.reads_c() ? p.aligned.C : p.aligned.D));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(p.aligned.D));
    for (const bool fast_accumulation : {false, true}) {
      if (fast_accumulation && kind_.type != Type::e4m3) continue;
      cublasLtMatmulDesc_t operation;
      check_cublas(cublas_lt().MatmulDescCreate(&operation, compute, scalar), "cublasLtMatmulDescCreate");
      plan.operation[fast_accumulation].reset(operation);
      const auto set = [&](cublasLtMatmulDescAttributes_t which, const auto& value) {
        check_cublas(cublas_lt().MatmulDescSetAttribute(operation, which, &value, sizeof(value)), "operation");
      };
      set(CUBLASLT_MATMUL_DESC_TRANSA, kind_.b == Order::row_major ? CUBLAS_OP_N : CUBLAS_OP_T);
      set(CUBLASLT_MATMUL_DESC_TRANSB, kind_.a == Order::row_major ? CUBLAS_OP_N : CUBLAS_OP_T);
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(fast_accumulation));
      std::array<cublasLtMatmulHeuristicResult_t, most_algorithms> results;
      int found = 0;
      const cublasStatus_t status = cublas_lt().MatmulAlgoGetHeuristic(library_.get(), operation, plan.b.get(),
                                                                       plan.a.get(), plan.c.get(), plan.d.get(), handle,
                                                                       most_algorithms, results.data(), &found);
      if (status != CUBLAS_STATUS_NOT_SUPPORTED) check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
      for (int i = 0; i < found; ++i)
        if (const auto& result = results[static_cast<std::size_t>(i)]; result.state == CUBLAS_STATUS_SUCCESS)
          plan.algorithms.push_back({result.algo, fast_accumulation});
    }
    return plan;
  }

  /// Made once for all problems that are alike.
  const Plan& plan(const Problem& p) {
    const bool reads_c = p.reads_c();
    const Batch& batch = p.batch;
    const Key key = {p.M,
                     p.N,
                     p.K,
                     p.lda,
                     p.ldb,
                     p.ldd,
                     reads_c ? p.ldc : 0,
                     reads_c ? p.aligned.C : 0,
                     p.aligned.A,
                     p.aligned.B,
                     p.aligned.D,
                     batch.count,
                     batch.stride_a,
                     batch.stride_b,
                     reads_c ? batch.stride_c : 0,
                     batch.stride_d};
    const auto known = plans_.find(key);
    return known != plans_.end() ? known->second : plans_.emplace(key, make_plan(p)).first->second;
  }

  using Key = std::array<std::int64_t, 16>;

  GemmKind kind_;
  cudaStream_t stream_;
  Library library_;
  void* workspace_ = nullptr;
  std::map<Key, Plan> plans_;
};

}  // namespace

std::optional<Peer> open_peer(Device& device, const GemmKind& kind) {
  const bool known = kind.result == kind.type || kind.result == Type::f32 || kind.result == Type::s32;
  if (!CublasLt::loaded() || !known) return std::nullopt;
  const auto cublas = std::make_shared<Cublas>(device.stream(), kind);
  const auto contestant = [cublas, kind,
                           unit = kind.type == Type::f32 ? Unit::cuda_cores : tensor_cores_for(kind.type)](
                              std::string name, std::size_t algorithm, bool fast_accumulation) -> Contestant {
    return {.name = std::move(name),
            .unit = unit,
            .prepare = [cublas, algorithm](const Problem& p) -> Contestant::Launch {
              return [cublas, launch = cublas->prepare(p, algorithm)](const Stream& stream, const Operands& operands) {
                launch(stream, operands);
              };
            },
            .integers = cublas->integers() && kind.result != Type::s32,
            .fast_accumulation = fast_accumulation};
  };
  const auto algorithms = [cublas, contestant](const Problem& p) {
    std::vector<Contestant> all;
    const std::vector<Cublas::Algorithm>& found = cublas->algorithms(p);
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::string name = i == 0 ? "cuBLAS" : fmt::format("cuBLAS, algorithm {} of {}", i + 1, found.size());
      if (found[i].fast_accumulation) name += ", fast accumulation";
      all.push_back(contestant(std::move(name), i, found[i].fast_accumulation));
    }
    return all;
  };
  return Peer{.version = Cublas::version(), .contestant = contestant("cuBLAS", 0, false), .algorithms = algorithms};
}

#else

std::optional<Peer> open_peer(Device&, const GemmKind&) { return std::nullopt; }

#endif

}  // namespace lapidary::bench
