#pragma once
#include <cuda_runtime.h>

#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include "device/cuda_check.hpp"
#include "device/stream.hpp"

namespace lapidary::bench {

/// A point in the work of a stream, and when it was reached.
class Event {
 public:
  Event() { check_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check_cuda(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  void record(const Stream& stream) { record(static_cast<cudaStream_t>(stream.cuda)); }
  /// @throws DeviceError if work before it failed
  bool passed() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status != cudaErrorNotReady) check_cuda(status, "work on the GPU");
    return status == cudaSuccess;
  }
  void wait() const { check_cuda(cudaEventSynchronize(event_), "work on the GPU"); }
  double milliseconds_since(const Event& start) const {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cudaEventElapsedTime");
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
using CapturedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

/// @param enqueue  puts launches on the stream, which is none that others wait for
template <class Enqueue>
CapturedGraph captured(cudaStream_t stream, const Enqueue& enqueue) {
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  std::exception_ptr failed;
  try {
    enqueue();
  } catch (...) {
    failed = std::current_exception();
  }
  cudaGraph_t ended = nullptr;
  const cudaError_t status = cudaStreamEndCapture(stream, &ended);
  CapturedGraph graph(ended);
  if (failed) std::rethrow_exception(failed);
  check_cuda(status, "cudaStreamEndCapture");
  return graph;
}

/// Launches that were captured, to be launched together.
class Graph {
 public:
  explicit Graph(const CapturedGraph& graph) {
    check_cuda(cudaGraphInstantiate(&launches_, graph.get(), 0), "cudaGraphInstantiate");
  }
  Graph(Graph&& other) noexcept : launches_(std::exchange(other.launches_, nullptr)) {}
  Graph& operator=(Graph&&) = delete;
  ~Graph() {
    if (launches_) cudaGraphExecDestroy(launches_);
  }

  void launch(cudaStream_t stream) const { check_cuda(cudaGraphLaunch(launches_, stream), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t launches_ = nullptr;
};

}  // namespace lapidary::bench
