#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/refusal.hpp"
#include "device/capture.hpp"
#include "device/prepared.hpp"
#include "kernels/finishing.hpp"
#include "kernels/packing.hpp"
#include "kernels/registry.hpp"
#include "lapidary/gemm.hpp"
#include "library/batch_overlap.hpp"
#include "library/canonical.hpp"
#include "library/of_product.hpp"
#include "library/plan_data.hpp"
#include "library/stream_key.hpp"

namespace lapidary {
namespace {

using library::BatchBytes;
using library::PackedMatrix;
using library::PlanData;

/// What a plan is found by.
struct PlanKey {
  Problem problem;
  GemmOptions options;

  bool operator==(const PlanKey&) const = default;
};
struct PlanKeyHash {
  std::size_t operator()(const PlanKey& key) const {
    const Problem& p = key.problem;
    std::size_t hash = std::hash<std::string>()(key.options.kernel);
    // Sizes and leading dimensions tell most problems apart; the others are told apart by ==.
    for (const std::int64_t value : {p.M, p.N, p.K, p.lda, p.ldb, p.ldc, p.ldd, p.batch.count,
                                     static_cast<std::int64_t>(p.kind.type), static_cast<std::int64_t>(p.beta)})
      hash = (hash ^ static_cast<std::size_t>(value)) * 0x9e3779b97f4a7c15ULL;
    return hash ^ hash >> 32;
  }
};

const void* advanced(const void* data, std::int64_t elements, Type type) {
  return data ? static_cast<const std::byte*>(data) + elements * size_of(type) : nullptr;
}

/// Those of one product of a batch.
Operands operands_of(const Problem& p, const Operands& first, std::int64_t product) {
  if (product == 0) return first;
  // Strides of matrices that are not read may be any.
  const auto offset = [&](Matrix matrix, std::int64_t stride) {
    const bool unread = shape_of(p, matrix).empty() || (matrix == Matrix::C && !p.reads_c());
    return unread ? 0 : product * stride;
  };
  Operands o = first;
  o.A = advanced(first.A, offset(Matrix::A, p.batch.stride_a), p.kind.type);
  o.B = advanced(first.B, offset(Matrix::B, p.batch.stride_b), p.kind.type);
  o.C = advanced(first.C, offset(Matrix::C, p.batch.stride_c), p.kind.result);
  o.D = const_cast<void*>(advanced(first.D, offset(Matrix::D, p.batch.stride_d), p.kind.result));
  o.residual = advanced(first.residual, p.epilogue.residual ? product * p.batch.stride_residual : 0, p.kind.result);
  return o;
}

/// Has a problem take A or B as it was copied before.
void take_copy(Problem& p, Matrix matrix, const Packing& packing) {
  const bool is_a = matrix == Matrix::A, by_row = packing.to == Order::row_major;
  // Packings are of the product with row-major results, which of others is the transposed one.
  (is_a ? p.kind.a : p.kind.b) = by_row == (p.order_d == Order::row_major) ? Order::row_major : Order::column_major;
  (is_a ? p.lda : p.ldb) = packing.to_ld;
  (is_a ? p.aligned.A : p.aligned.B) = library::workspace_alignment;
}

/// Checks all products of a batch, of which validate() has seen the first, before one of them is launched.
void validate_others(const Problem& p, const Operands& o) {
  const Batch& batch = p.batch;
  if (p.epilogue.residual && o.residual == o.D && batch.stride_residual != batch.stride_d)
    throw Refusal(RefusalId::in_place_stride,
                  fmt::format("D is the residual, and begins every {} elements; the residual must as well, and does "
                              "every {}",
                              batch.stride_d, batch.stride_residual));
  const auto bytes = [&](const char* name, const MatrixShape& x, const void* data, std::int64_t stride) {
    const auto found = BatchBytes::of(x, data, batch.count, stride);
    if (!found)
      throw Refusal(RefusalId::pointer_range,
                    fmt::format("the first {} is at {}, and {} begin every {} elements; the last one must end below "
                                "2^63",
                                name, data, batch.count, stride));
    return *found;
  };
  const BatchBytes d = bytes("D", shape_of(p, Matrix::D), o.D, batch.stride_d);
  const auto require_apart = [&](RefusalId broken, const char* name, const MatrixShape& x, const void* data,
                                 std::int64_t stride, const char* legal) {
    if (x.empty() || !BatchBytes::meet(d, bytes(name, x, data, stride))) return;
    throw Refusal(broken,
                  fmt::format("the D of the batch, from {} on every {} elements, share some with {}, from {} on "
                              "every {}; over the whole batch they must share none{}",
                              o.D, batch.stride_d, name, data, stride, legal));
  };
  require_apart(RefusalId::overlap_input, "A", shape_of(p, Matrix::A), o.A, batch.stride_a, "");
  require_apart(RefusalId::overlap_input, "B", shape_of(p, Matrix::B), o.B, batch.stride_b, "");
  if (const std::int64_t length = bias_length(p); length > 0)
    require_apart(RefusalId::overlap_input, "the bias", {p.kind.result, 1, length, length, Order::row_major}, o.bias, 0,
                  "");
  for (const auto& [name, known, factor] :
       {std::tuple("alpha", p.alpha, o.device_alpha), std::tuple("beta", p.beta, o.device_beta)})
    if (known == Factor::in_device_memory)
      require_apart(RefusalId::overlap_input, name, {Type::f32, 1, 1, 1, Order::row_major}, factor, 0, "");
  if (p.epilogue.residual && o.residual != o.D)
    require_apart(RefusalId::overlap_residual, "the residual", shape_of_residual(p), o.residual, batch.stride_residual,
                  ", or each be its residual");
  const bool reads_c = p.reads_c() && (p.beta == Factor::in_device_memory || o.beta != 0);
  if (reads_c && !p.in_place)
    require_apart(RefusalId::overlap_c, "C", shape_of(p, Matrix::C), o.C, batch.stride_c, ", or each be its C");
}

/// Checks the B of all groups, of which validate() has seen the first.
void validate_other_groups(const Problem& p, const Operands& o) {
  const std::int64_t stride = p.batch.stride_b;
  const auto all = BatchBytes::of(shape_of(p, Matrix::B), o.B, p.groups, stride),
             d = BatchBytes::of(shape_of(p, Matrix::D), o.D, 1, 0);
  if (!all)
    throw Refusal(RefusalId::pointer_range,
                  fmt::format("the first B is at {}, and {} begin every {} elements; the last one must end below 2^63",
                              o.B, p.groups, stride));
  if (BatchBytes::meet(*d, *all))
    throw Refusal(RefusalId::overlap_input,
                  fmt::format("D is at {} and shares elements with the B of groups, from {} on every {}; it must share "
                              "none, since they are read while D is written",
                              o.D, o.B, stride));
}

/// Whether neither A nor B is read though the plan reads them: by the BLAS's rule they are not where alpha is 0,
/// whatever is there.
bool drops_products(const Problem& problem, const Operands& operands) {
  return operands.alpha == 0 && problem.alpha == Factor::any && problem.K > 0;
}

/// Checks that so many bytes from the caller, which are written before all is read, are nobody else's.
void validate_workspace(const Problem& p, const Operands& o, const void* workspace, std::size_t size) {
  const auto bytes = static_cast<std::int64_t>(size);
  const auto own = BatchBytes::of({Type::s8, 1, bytes, bytes, Order::row_major}, workspace, 1, 0);
  if (!own)
    throw Refusal(
        RefusalId::pointer_range,
        fmt::format("the workspace is at {}, and {} bytes from there; it must end below 2^63", workspace, bytes));
  const auto require_apart = [&](const char* name, const MatrixShape& x, const void* data, std::int64_t count,
                                 std::int64_t stride) {
    if (x.empty()) return;
    const auto other = BatchBytes::of(x, data, count, stride);
    if (!other || !BatchBytes::meet(*own, *other)) return;
    throw Refusal(RefusalId::workspace_overlap,
                  fmt::format("the workspace is at {}, and of its {} bytes some are of {} at {}; it must share none "
                              "with what is read or written",
                              workspace, bytes, name, data));
  };
  const Batch& batch = p.batch;
  if (p.alpha != Factor::zero) {
    require_apart("A", shape_of(p, Matrix::A), o.A, batch.count, batch.stride_a);
    require_apart("B", shape_of(p, Matrix::B), o.B, p.groups > 0 ? p.groups : batch.count, batch.stride_b);
  }
  if (p.reads_c() && (p.beta == Factor::in_device_memory || o.beta != 0))
    require_apart("C", shape_of(p, Matrix::C), o.C, batch.count, batch.stride_c);
  require_apart("D", shape_of(p, Matrix::D), o.D, batch.count, batch.stride_d);
  if (p.epilogue.residual)
    require_apart("the residual", shape_of_residual(p), o.residual, batch.count, batch.stride_residual);
  if (const std::int64_t length = bias_length(p); length > 0)
    require_apart("the bias", {p.kind.result, 1, length, length, Order::row_major}, o.bias, 1, 0);
  constexpr MatrixShape factor = {Type::f32, 1, 1, 1, Order::row_major};
  if (p.alpha == Factor::in_device_memory) require_apart("alpha", factor, o.device_alpha, 1, 0);
  if (p.beta == Factor::in_device_memory) require_apart("beta", factor, o.device_beta, 1, 0);
}

void validate_all(const Problem& problem, const Operands& operands) {
  validate(problem, operands);
  if (problem.M == 0 || problem.N == 0) return;
  if (problem.batch.count > 1) validate_others(problem, operands);
  if (problem.groups > 1) validate_other_groups(problem, operands);
}

/// Operands of a run as its launches read them: copies that the plan has for A or B in the place of these.
/// @param workspace  of the caller's; null if there is none
/// @throws Refusal if any of a batch breaks what the plan's problem says
Operands checked(const PlanData& plan, Operands operands, const void* workspace) {
  const auto validate_run = [&](const Problem& problem) {
    validate_all(problem, operands);
    const std::size_t bytes = plan.planned.workspace_bytes;
    if (workspace && bytes > 0) validate_workspace(problem, operands, workspace, bytes);
  };
  if (drops_products(plan.problem, operands)) {
    Problem without_products = plan.problem;
    without_products.alpha = Factor::zero;
    validate_run(without_products);
    return operands;
  }
  std::optional<Problem> of_copies;
  for (const auto& [matrix, place, copy] :
       {std::tuple(Matrix::A, &operands.A, operands.prepared_a), {Matrix::B, &operands.B, operands.prepared_b}}) {
    const PackedMatrix* const packed = library::prepared_copy(plan, matrix);
    if (!packed) continue;
    const bool aligned = reinterpret_cast<std::uintptr_t>(copy) % library::workspace_alignment == 0;
    if (!copy || !aligned)
      throw Refusal(RefusalId::prepared_copy,
                    fmt::format("the copy of {} is {}; the plan asks for one that prepare() has made, at a "
                                "multiple of {} bytes",
                                name_of(matrix), copy, library::workspace_alignment));
    *place = copy;
    if (!of_copies) of_copies = plan.problem;
    take_copy(*of_copies, matrix, packed->packing);
  }
  validate_run(of_copies ? *of_copies : plan.problem);
  return operands;
}

}  // namespace

struct Context::State {
  // Beyond these everything of a kind is dropped and made anew.
  static constexpr std::size_t most_plans = 4096, most_launches = 4096, most_workspaces = 64;

  State(Device& device_, const library::BuiltInCard& card_) : device(device_), card(card_) {
    if (const char* const file = std::getenv("LAPIDARY_LOG"); file && *file) log = file;
  }

  /// A plan with what it is launched by.
  struct Use {
    const PlanData* plan = nullptr;
    std::shared_ptr<const Prepared> prepared;
    void* workspace = nullptr;
  };

  struct Workspace {
    DeviceBuffer memory;
    std::uint64_t last_use = 0;
    bool in_graph = false;
  };

  void require_own(const Stream& stream) const;
  Plan plan(const Problem& problem, const GemmOptions& options);
  Plan without_products(const Plan& plan);
  std::shared_ptr<const Prepared> prepared(const Plan& plan, Build build, const Stream& stream);
  void* workspace(const Stream& stream, std::size_t bytes);
  void workspace_is_over(std::map<library::StreamKey, Workspace>::iterator which);
  void run(const Plan& plan, const Stream& stream, std::span<const Operands> products, void* workspace);
  static void launch(const Use& use, Build build, const Stream& stream, const Operands& operands);
  void write_log(const Plan& plan) const;

  Device& device;
  const library::BuiltInCard& card;
  std::shared_mutex mutex;
  std::unordered_map<PlanKey, Plan, PlanKeyHash> plans;
  struct Launches {
    Plan plan;  ///< which keeps what it is found by
    std::array<std::shared_ptr<const Prepared>, 3> by_build;
  };
  std::unordered_map<const PlanData*, Launches> launches;
  std::map<library::StreamKey, Workspace> workspaces;
  std::vector<DeviceBuffer> of_graphs;  ///< workspaces that their streams have outgrown, or no longer have
  std::uint64_t uses = 0;               ///< of workspaces
  std::string log;                      ///< a file, "-" for standard error, empty for none
  std::mutex turn;                      ///< of those who use an emulated machine, or a workspace of the context
};

/// What is kept of a launch, and a workspace, is of the context's device: of several emulated machines each has
/// multiprocessors and memory of its own.
void Context::State::require_own(const Stream& stream) const {
  if (stream.machine == device.stream().machine) return;
  const char* const owner = stream.machine ? "an emulated machine" : "a GPU";
  const char* const own = !device.stream().machine ? "a GPU" : stream.machine ? "another one" : "an emulated machine";
  throw Refusal(
      RefusalId::device_stream,
      fmt::format("the stream is of {}, and the context of {}; it must be of the context's own device", owner, own));
}

Plan Context::State::plan(const Problem& problem, const GemmOptions& options) {
  const PlanKey key = {resolved(problem), options};
  {
    const std::shared_lock lock(mutex);
    if (const auto found = plans.find(key); found != plans.end()) return found->second;
  }
  Plan made = lapidary::plan(problem, card.gpu.name, options);
  const std::unique_lock lock(mutex);
  if (plans.size() >= most_plans) plans.clear();
  const auto [place, is_new] = plans.emplace(key, std::move(made));
  if (is_new) write_log(place->second);
  return place->second;
}

/// What is run in a plan's place where alpha is 0. All ways to do that need a workspace of one size: room for sums if
/// something follows that is not done where they are.
Plan Context::State::without_products(const Plan& of) {
  Problem problem = of.problem();
  problem.alpha = Factor::zero;
  return plan(problem, {});
}

std::shared_ptr<const Prepared> Context::State::prepared(const Plan& plan, Build build, const Stream& stream) {
  const auto place = static_cast<std::size_t>(build);
  {
    const std::shared_lock lock(mutex);
    if (const auto found = launches.find(&plan.data()); found != launches.end() && found->second.by_build[place])
      return found->second.by_build[place];
  }
  const library::Way& way = plan.data().way;
  Prepared launch = lapidary::prepare(*way.kernel->kernel, build, way.problem, card_of(stream));
  if (plan.way().waits) launch.shape.overlaps = false;
  const auto made = std::make_shared<const Prepared>(std::move(launch));
  const std::unique_lock lock(mutex);
  if (launches.size() >= most_launches) launches.clear();
  launches.try_emplace(&plan.data(), Launches{plan, {}}).first->second.by_build[place] = made;
  return made;
}

// A graph that was captured runs at any time: what it uses stays. All else is free()d, which waits for what is under
// way.
void Context::State::workspace_is_over(std::map<library::StreamKey, Workspace>::iterator which) {
  if (which->second.in_graph) of_graphs.push_back(std::move(which->second.memory));
  workspaces.erase(which);
}

void* Context::State::workspace(const Stream& stream, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const bool captured = is_captured(stream);
  const std::unique_lock lock(mutex);
  const library::StreamKey key = library::key_of(stream);
  auto found = workspaces.find(key);
  if (found != workspaces.end() && found->second.memory.bytes() < bytes) {
    found->second.in_graph |= captured;  // nothing may be free()d meanwhile
    workspace_is_over(found);
    found = workspaces.end();
  }
  if (found == workspaces.end()) {
    while (workspaces.size() >= most_workspaces && !captured)
      workspace_is_over(std::min_element(workspaces.begin(), workspaces.end(), [](const auto& x, const auto& y) {
        return x.second.last_use < y.second.last_use;
      }));
    found = workspaces.emplace(key, Workspace{DeviceBuffer(device, bytes, "workspace")}).first;
  }
  Workspace& own = found->second;
  own.last_use = ++uses;
  own.in_graph |= captured;
  return own.memory.data();
}

/// @param products  checked
void Context::State::run(const Plan& plan, const Stream& stream, std::span<const Operands> products, void* workspace) {
  require_own(stream);
  const Problem& problem = plan.problem();
  if (!plan.data().way.kernel || products.empty()) return;
  const std::size_t bytes = plan.workspace_bytes();
  if (bytes > 0 && reinterpret_cast<std::uintptr_t>(workspace) % library::workspace_alignment != 0)
    throw Refusal(RefusalId::workspace_alignment,
                  fmt::format("the workspace is at {}; its address must be a multiple of {}", workspace,
                              library::workspace_alignment));
  const auto drops = [&](const Operands& operands) { return drops_products(problem, operands); };
  std::optional<Plan> other;
  if (std::any_of(products.begin(), products.end(), drops)) other = without_products(plan);
  const std::size_t bytes_of_other = other ? other->workspace_bytes() : 0;
  const bool fits = bytes_of_other <= bytes;
  const std::size_t own_bytes = std::max(workspace ? 0 : bytes, workspace && fits ? 0 : bytes_of_other);
  // A workspace of the stream is one launch's until the last one that uses it is on its way.
  std::unique_lock own_turn(turn, std::defer_lock);
  if (stream.machine || own_bytes > 0) own_turn.lock();
  // Whatever may be refused is done before the first launch.
  const Build build = build_for(stream);
  void* const own = this->workspace(stream, own_bytes);
  Use use, use_of_other;
  if (!other || !std::all_of(products.begin(), products.end(), drops))
    use = {&plan.data(), prepared(plan, build, stream), workspace ? workspace : own};
  if (other) use_of_other = {&other->data(), prepared(*other, build, stream), workspace && fits ? workspace : own};
  for (const Operands& operands : products)
    launch(other && drops(operands) ? use_of_other : use, build, stream, operands);
}

void Context::State::launch(const Use& use, Build build, const Stream& stream, const Operands& operands) {
  const library::Way& way = use.plan->way;
  const Problem problem = library::with_row_major_results(use.plan->problem);
  const Operands first = library::with_row_major_results(use.plan->problem, operands);
  const auto packed = [&](const std::optional<PackedMatrix>& copy, const void* from, bool again) -> const void* {
    if (!copy || copy->prepared) return from;
    void* const to = static_cast<std::byte*>(use.workspace) + copy->at;
    if (again) pack(build, stream, copy->packing, from, to);
    return to;
  };
  for (std::int64_t product = 0; product < way.launches(problem.batch.count); ++product) {
    Operands o = operands_of(problem, first, product);
    // Infinitely many times no products are none; a second launch has no alpha then (way.cpp, finish_later).
    if (problem.K == 0 && problem.alpha == Factor::any) o.alpha = 0;
    o.A = packed(way.a, o.A, product == 0 || problem.batch.stride_a != 0);
    o.B = packed(way.b, o.B, product == 0 || problem.batch.stride_b != 0);
    if (!way.finishing && !way.a && !way.b) {
      // As they were validated, for the build of the stream; copies and sums may lie in a workspace of the caller's,
      // which nobody has compared with the operands.
      if (use.prepared->kernel) use.prepared->start(*use.prepared, stream, o);
      continue;
    }
    if (!way.finishing) {
      use.prepared->launch(stream, o);
      continue;
    }
    const library::Finishing& finishing = *way.finishing;
    void* const sums = finishing.in_d ? o.D : static_cast<std::byte*>(use.workspace) + finishing.at;
    use.prepared->launch(stream, {.A = o.A, .B = o.B, .D = sums});
    const PartialSums partial = {static_cast<const float*>(sums), way.problem.ldd, way.parts(),
                                 way.problem.batch.stride_d};
    finish(build, stream, finishing.problem, partial, o);
  }
}

void Context::State::write_log(const Plan& plan) const {
  if (log.empty()) return;
  const std::string line = fmt::format("{}: {}\n", plan.id(), plan.why());
  // In one piece, so that lines of several threads and programs stay whole. What cannot be written is not.
  std::FILE* const file = log == "-" ? stderr : std::fopen(log.c_str(), "a");
  if (!file) return;
  std::fwrite(line.data(), 1, line.size(), file);
  if (file != stderr) std::fclose(file);
}

Context::Context(Device& device, std::string_view card) {
  const DeviceProperties properties = device.properties();
  const bool own = card.empty() && device.kind() == DeviceKind::gpu;
  state_ = std::make_unique<State>(device, own ? library::card_of_device(properties.name, properties.compute_capability)
                                               : library::find_card(card.empty() ? "H200" : card));
}
Context::~Context() = default;

const std::string& Context::card() const { return state_->card.gpu.name; }

Plan Context::plan(const Problem& problem, const GemmOptions& options) { return state_->plan(problem, options); }

void Context::prepare(const Plan& plan, const Stream& stream, Matrix matrix, const void* from, void* to) {
  state_->require_own(stream);
  const PackedMatrix* const copy = library::prepared_copy(plan.data(), matrix);
  if (!copy)
    throw Refusal(
        RefusalId::prepared_none,
        fmt::format("the plan takes {} as it is; prepare what GemmOptions::prepared names and the plan copies",
                    matrix == Matrix::A || matrix == Matrix::B ? name_of(matrix) : "what is neither A nor B"));
  const auto require = [&](const void* address, const char* name, unsigned alignment) {
    if (!address || reinterpret_cast<std::uintptr_t>(address) % alignment != 0)
      throw Refusal(RefusalId::prepared_copy,
                    fmt::format("{} is at {}; it must be memory at a multiple of {} bytes", name, address, alignment));
  };
  require(from, "from", static_cast<unsigned>(size_of(copy->packing.type)));
  require(to, "to", library::workspace_alignment);
  const auto first = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data); };
  const auto bytes = static_cast<std::uintptr_t>(shape_of(plan.problem(), matrix).bytes());
  const std::uintptr_t copied = plan.prepared_bytes(matrix), end = std::uintptr_t{1} << 63;
  for (const auto& [address, name, size] : {std::tuple(from, "from", bytes), {to, "to", copied}})
    if (first(address) >= end || size > end - first(address))
      throw Refusal(RefusalId::pointer_range,
                    fmt::format("{} is at {}, and {} bytes from there; it must end below 2^63", name, address, size));
  if (first(from) < first(to) + copied && first(to) < first(from) + bytes)
    throw Refusal(
        RefusalId::prepared_copy,
        fmt::format("to is at {} and shares bytes with {} at {}; a copy shares none with what it is made from", to,
                    name_of(matrix), from));
  std::unique_lock turn(state_->turn, std::defer_lock);
  if (stream.machine) turn.lock();
  pack(build_for(stream), stream, copy->packing, from, to);
}

void Context::run(const Plan& plan, const Stream& stream, const Operands& operands, void* workspace) {
  const Operands one = checked(plan.data(), operands, workspace);
  state_->run(plan, stream, {&one, 1}, workspace);
}

void Context::run(const Plan& plan, const Stream& stream, std::span<const Operands> products, void* workspace) {
  std::vector<Operands> all;
  all.reserve(products.size());
  for (const Operands& operands : products)
    all.push_back(library::of_product(static_cast<std::int64_t>(all.size()),
                                      [&] { return checked(plan.data(), operands, workspace); }));
  state_->run(plan, stream, all, workspace);
}

void Context::clear() {
  const std::unique_lock lock(state_->mutex);
  state_->plans.clear();
  state_->launches.clear();
  state_->workspaces.clear();
  state_->of_graphs.clear();
}

}  // namespace lapidary
