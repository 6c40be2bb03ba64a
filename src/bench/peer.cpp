#include "bench/peer.hpp"

#include <cuda_runtime_api.h>

#if LAPIDARY_WITH_CUBLAS
#include <cublasLt.h>
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

void check_cublas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) throw DeviceError(std::string(what) + ": " + cublasLtGetStatusString(status));
}

/// Objects of the library, by their handles.
struct Destroy {
  void operator()(cublasLtHandle_t library) const { cublasLtDestroy(library); }
  void operator()(cublasLtMatmulDesc_t operation) const { cublasLtMatmulDescDestroy(operation); }
  void operator()(cublasLtMatrixLayout_t matrix) const { cublasLtMatrixLayoutDestroy(matrix); }
  void operator()(cublasLtMatmulPreference_t preference) const { cublasLtMatmulPreferenceDestroy(preference); }
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
    default: return CUDA_R_32F;
  }
}

/// Bytes that an address is a multiple of, as far as they matter.
std::uint32_t alignment(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

class Cublas {
 public:
  Cublas(const Stream& stream, const GemmKind& kind) : kind_(kind), stream_(static_cast<cudaStream_t>(stream.cuda)) {
    cublasLtHandle_t handle;
    check_cublas(cublasLtCreate(&handle), "cublasLtCreate");
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
    for (int i = 0; i < 3; ++i) check_cublas(cublasLtGetProperty(names[i], &parts[i]), "cublasLtGetProperty");
    return "cuBLAS " + std::to_string(parts[0]) + "." + std::to_string(parts[1]) + "." + std::to_string(parts[2]);
  }

  std::size_t algorithms(const GemmProblem& p) { return plan(p).algorithms.size(); }

  /// @param algorithm  of those for this problem
  void run(const GemmProblem& p, std::size_t algorithm) {
    const Plan& plan = this->plan(p);
    if (algorithm >= plan.algorithms.size()) throw DeviceError("cuBLAS has no algorithm for this problem");
    check_cublas(cublasLtMatmul(library_.get(), plan.operation.get(), &p.alpha, p.B, plan.b.get(), p.A, plan.a.get(),
                                &p.beta, p.beta != 0 ? p.C : p.D, (p.beta != 0 ? plan.c : plan.d).get(), p.D,
                                plan.d.get(), &plan.algorithms[algorithm].algo, workspace_, workspace_bytes, stream_),
                 "cublasLtMatmul");
  }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{64} << 20;
  static constexpr int most_algorithms = 32;

  /// What a call needs beside the operands.
  struct Plan {
    Operation operation;
    Matrix a, b, c, d;
    std::vector<cublasLtMatmulHeuristicResult_t> algorithms;
  };

  /// Of a matrix whose `lines`, `length` elements each, are `ld` elements apart. cuBLAS calls them columns.
  static Matrix matrix(Type type, std::int64_t length, std::int64_t lines, std::int64_t ld) {
    cublasLtMatrixLayout_t layout;
    check_cublas(cublasLtMatrixLayoutCreate(&layout, data_type(type), static_cast<std::uint64_t>(length),
                                            static_cast<std::uint64_t>(lines), ld),
                 "cublasLtMatrixLayoutCreate");
    return Matrix(layout);
  }

  /// cuBLAS sees the transposes of row-major matrices: D^T = B^T A^T, N x M.
  Plan make_plan(const GemmProblem& p) const {
    const cublasComputeType_t compute = kind_.type == Type::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasLtMatmulDesc_t operation;
    check_cublas(cublasLtMatmulDescCreate(&operation, compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
    Plan plan{
        .operation = Operation(operation),
        .a = kind_.a == Order::row_major ? matrix(kind_.type, p.K, p.M, p.lda) : matrix(kind_.type, p.M, p.K, p.lda),
        .b = kind_.b == Order::row_major ? matrix(kind_.type, p.N, p.K, p.ldb) : matrix(kind_.type, p.K, p.N, p.ldb),
        .c = matrix(kind_.result, p.N, p.M, p.beta != 0 ? p.ldc : p.ldd),
        .d = matrix(kind_.result, p.N, p.M, p.ldd),
        .algorithms = std::vector<cublasLtMatmulHeuristicResult_t>(most_algorithms)};
    const auto transpose = [&](cublasLtMatmulDescAttributes_t which, Order order) {
      const cublasOperation_t value = order == Order::row_major ? CUBLAS_OP_N : CUBLAS_OP_T;
      check_cublas(cublasLtMatmulDescSetAttribute(operation, which, &value, sizeof(value)), "transposition");
    };
    transpose(CUBLASLT_MATMUL_DESC_TRANSA, kind_.b);
    transpose(CUBLASLT_MATMUL_DESC_TRANSB, kind_.a);

    cublasLtMatmulPreference_t handle;
    check_cublas(cublasLtMatmulPreferenceCreate(&handle), "cublasLtMatmulPreferenceCreate");
    const Preference preference(handle);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, const auto& value) {
      check_cublas(cublasLtMatmulPreferenceSetAttribute(handle, which, &value, sizeof(value)), "preference");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(p.B));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(p.A));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(p.beta != 0 ? p.C : p.D));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(p.D));
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(library_.get(), operation, plan.b.get(), plan.a.get(),
                                                                 plan.c.get(), plan.d.get(), handle, most_algorithms,
                                                                 plan.algorithms.data(), &found);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
    plan.algorithms.resize(static_cast<std::size_t>(found));
    std::erase_if(plan.algorithms, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
    return plan;
  }

  /// Made once for all problems that are alike.
  const Plan& plan(const GemmProblem& p) {
    const std::int64_t ldc = p.beta != 0 ? p.ldc : 0;
    const Key key = {p.M,
                     p.N,
                     p.K,
                     p.lda,
                     p.ldb,
                     p.ldd,
                     ldc,
                     p.beta != 0 ? alignment(p.C) : 0,
                     alignment(p.A),
                     alignment(p.B),
                     alignment(p.D)};
    const auto known = plans_.find(key);
    return known != plans_.end() ? known->second : plans_.emplace(key, make_plan(p)).first->second;
  }

  using Key = std::array<std::int64_t, 11>;

  GemmKind kind_;
  cudaStream_t stream_;
  Library library_;
  void* workspace_ = nullptr;
  std::map<Key, Plan> plans_;
};

}  // namespace

std::optional<Peer> open_peer(Device& device, const GemmKind& kind) {
  if (kind.type == Type::s8 || (kind.result != kind.type && kind.result != Type::f32)) return std::nullopt;
  const auto cublas = std::make_shared<Cublas>(device.stream(), kind);
  const auto contestant = [cublas, unit = kind.type == Type::f32 ? Unit::cuda_cores : tensor_cores_for(kind.type)](
                              std::string name, std::size_t algorithm) -> Contestant {
    return {.name = std::move(name), .unit = unit, .launch = [cublas, algorithm](const Stream&, const GemmProblem& p) {
              cublas->run(p, algorithm);
            }};
  };
  const auto algorithms = [cublas, contestant](const GemmProblem& p) {
    std::vector<Contestant> all;
    const std::size_t count = cublas->algorithms(p);
    for (std::size_t i = 0; i < count; ++i)
      all.push_back(contestant(
          i == 0 ? "cuBLAS" : "cuBLAS, algorithm " + std::to_string(i + 1) + " of " + std::to_string(count), i));
    return all;
  };
  return Peer{.version = Cublas::version(), .contestant = contestant("cuBLAS", 0), .algorithms = algorithms};
}

#else

std::optional<Peer> open_peer(Device&, const GemmKind&) { return std::nullopt; }

#endif

}  // namespace lapidary::bench
