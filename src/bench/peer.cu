#include "bench/peer.hpp"

#include <cuda_runtime.h>

#if LAPIDARY_WITH_CUBLAS
#include <cublas_v2.h>
#endif

#include <memory>

#include "core/error.hpp"
#include "device/launch.hpp"

namespace lapidary::bench {

#if LAPIDARY_WITH_CUBLAS
namespace {

void check_cublas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) throw DeviceError(std::string(what) + ": " + cublasGetStatusString(status));
}

class Cublas {
 public:
  explicit Cublas(const Stream& stream) : stream_(static_cast<cudaStream_t>(stream.cuda)) {
    check_cublas(cublasCreate(&handle_), "cublasCreate");
    check_cublas(cublasSetStream(handle_, stream_), "cublasSetStream");
    // f32 becomes tf32 only in CUBLAS_TF32_TENSOR_OP_MATH. The flag keeps partial sums of f16 and bf16 products in f32
    // where the sum over K is split.
    constexpr int mode = CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    check_cublas(cublasSetMathMode(handle_, static_cast<cublasMath_t>(mode)), "cublasSetMathMode");
  }
  ~Cublas() { cublasDestroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  std::string version() const {
    int parts[3] = {};
    constexpr libraryPropertyType names[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
    for (int i = 0; i < 3; ++i) check_cublas(cublasGetProperty(names[i], &parts[i]), "cublasGetProperty");
    return "cuBLAS " + std::to_string(parts[0]) + "." + std::to_string(parts[1]) + "." + std::to_string(parts[2]);
  }

  void run(const GemmProblem& p) {
    const cudaDataType_t type = data_type(p.kind.type), result = data_type(p.kind.result);
    if (p.beta != 0 && p.C != p.D) copy_c(p);
    // cuBLAS is column-major and sees the transposes of row-major matrices: D^T = B^T A^T, N x M.
    check_cublas(cublasGemmEx_64(handle_, operation(p.kind.b), operation(p.kind.a), p.N, p.M, p.K, &p.alpha, p.B, type,
                                 p.ldb, p.A, type, p.lda, &p.beta, p.D, result, p.ldd,
                                 p.kind.type == Type::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                 CUBLAS_GEMM_DEFAULT),
                 "cublasGemmEx");
  }

 private:
  static cudaDataType_t data_type(Type type) {
    return type == Type::f16 ? CUDA_R_16F : type == Type::bf16 ? CUDA_R_16BF : CUDA_R_32F;
  }
  static cublasOperation_t operation(Order order) { return order == Order::row_major ? CUBLAS_OP_N : CUBLAS_OP_T; }

  /// cuBLAS adds to the matrix that it writes.
  void copy_c(const GemmProblem& p) {
    const std::size_t size = static_cast<std::size_t>(size_of(p.kind.result));
    const auto bytes = [&](std::int64_t elements) { return static_cast<std::size_t>(elements) * size; };
    check_cuda(cudaMemcpy2DAsync(p.D, bytes(p.ldd), p.C, bytes(p.ldc), bytes(p.N), static_cast<std::size_t>(p.M),
                                 cudaMemcpyDeviceToDevice, stream_),
               "copy of C");
  }

  cublasHandle_t handle_ = nullptr;
  cudaStream_t stream_;
};

}  // namespace

std::optional<Peer> open_peer(Device& device, const GemmKind& kind) {
  if (size_of(kind.type) == 1 || (kind.result != kind.type && kind.result != Type::f32)) return std::nullopt;
  const auto cublas = std::make_shared<Cublas>(device.stream());
  return Peer{.version = cublas->version(),
              .contestant = {.name = "cuBLAS",
                             .unit = kind.type == Type::f32 ? Unit::cuda_cores : tensor_cores_for(kind.type),
                             .launch = [cublas](const Stream&, const GemmProblem& problem) { cublas->run(problem); }}};
}

#else

std::optional<Peer> open_peer(Device&, const GemmKind&) { return std::nullopt; }

#endif

}  // namespace lapidary::bench
