#include "library/default_context.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace lapidary {
namespace {

struct DefaultContext {
  explicit DefaultContext(std::unique_ptr<Device> on) : device(std::move(on)), context(*device) {}

  std::unique_ptr<Device> device;
  Context context;
};

Context& of_machine(emulator::Machine& machine) {
  const auto make = [&] { return std::make_shared<DefaultContext>(open_emulator(machine)); };
  return static_cast<DefaultContext*>(machine.companion(make))->context;
}

struct OfGpus {
  std::mutex mutex;
  std::map<int, std::unique_ptr<DefaultContext>> contexts;
};
OfGpus& of_gpus() {
  // They never end: when a program does, CUDA may be gone before what is static.
  static OfGpus& all = *new OfGpus;
  return all;
}

Context& of_gpu(int gpu) {
  OfGpus& all = of_gpus();
  const std::lock_guard lock(all.mutex);
  std::unique_ptr<DefaultContext>& place = all.contexts[gpu];
  if (!place) place = std::make_unique<DefaultContext>(open_gpu());
  return place->context;
}

}  // namespace

Context* library::made_default_context() {
  OfGpus& all = of_gpus();
  const std::lock_guard lock(all.mutex);
  // Where there is one there is a GPU, too, whose number can be asked for.
  if (all.contexts.empty()) return nullptr;
  const auto found = all.contexts.find(current_gpu());
  return found == all.contexts.end() || !found->second ? nullptr : &found->second->context;
}

Context& default_context(const Stream& stream) {
  return stream.machine ? of_machine(*stream.machine) : of_gpu(current_gpu());
}

void gemm(const Stream& stream, Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
          const ConstMatrixView& C, const MatrixView& D, const GemmOptions& options) {
  default_context(stream).gemm(stream, alpha, A, B, beta, C, D, options);
}
void gemm(const Stream& stream, Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
          const ConstMatrixView& C, const MatrixView& D, const GemmEpilogue& epilogue, const GemmOptions& options) {
  default_context(stream).gemm(stream, alpha, A, B, beta, C, D, epilogue, options);
}
void gemm_grouped(const Stream& stream, Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
                  const ConstMatrixView& C, const MatrixView& D, const GroupEnds& ends, const GemmOptions& options) {
  default_context(stream).gemm_grouped(stream, alpha, A, B, beta, C, D, ends, options);
}

}  // namespace lapidary
