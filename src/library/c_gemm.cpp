#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "library/c_face.hpp"
#include "library/of_product.hpp"

namespace lapidary::c_face {
namespace {

// Values up to that are those of C++; those of types without a kernel are far enough behind them for all that may come.
static_assert(LAPIDARY_S32 == static_cast<int>(Type::s32) && LAPIDARY_S32 < LAPIDARY_E5M2);

Type type_of(const lapidary_matrix& x, const char* name) {
  const int value = static_cast<int>(x.type);
  if (value >= LAPIDARY_F32 && value <= LAPIDARY_S32) return static_cast<Type>(value);
  std::string known;
  for (int one = LAPIDARY_F32; one <= LAPIDARY_S32; ++one)
    known += std::string(known.empty() ? "" : ", ") + std::to_string(one) + " (" + name_of(static_cast<Type>(one)) +
             (one == LAPIDARY_S32 ? ", of C and D alone)" : ")");
  const char* const missing = value == LAPIDARY_E5M2 ? "e5m2" : value == LAPIDARY_F64 ? "f64" : nullptr;
  throw Refusal(RefusalId::type_value, std::string("the type of ") + name +
                                           (missing ? std::string(" is ") + missing + ", which no kernel computes yet"
                                                    : " has value " + std::to_string(value)) +
                                           "; types are " + known);
}

template <class View>
View view_of(const lapidary_matrix& x, const char* name) {
  const Type type = type_of(x, name);
  // Who leaves out what is behind the strides has one matrix.
  const std::int64_t count = x.count == 0 ? 1 : x.count;
  return {x.data, type, x.rows, x.cols, x.row_stride, x.col_stride, count, x.batch_stride};
}

GemmEpilogue epilogue_of(const lapidary_epilogue& known) {
  GemmEpilogue epilogue;
  epilogue.bias = value_of(static_cast<int>(known.bias), "the bias", Bias::of_rows);
  epilogue.bias_data = known.bias_data;
  epilogue.activation = value_of(static_cast<int>(known.activation), "the activation", Activation::silu);
  if (known.scales) epilogue.scale = known.scale;
  if (known.residual) epilogue.residual = view_of<ConstMatrixView>(*known.residual, "the residual");
  if (known.clamps) epilogue.clamp = {known.low, known.high};
  return epilogue;
}

}  // namespace

Asked asked(float alpha, const lapidary_matrix* A, const lapidary_matrix* B, float beta, const lapidary_matrix* C,
            const lapidary_matrix* D, const lapidary_options* options) {
  const lapidary_epilogue epilogue = known_of(known_of(options).epilogue);
  const auto scalar = [](float value, const float* device) {
    return device ? Scalar::in_device_memory(device) : Scalar(value);
  };
  ConstMatrixView c;  // what is not read may be anything
  if (beta != 0 || epilogue.beta) c = view_of<ConstMatrixView>(required(C, "C, which is read as beta is not 0,"), "C");
  return {.alpha = scalar(alpha, epilogue.alpha),
          .beta = scalar(beta, epilogue.beta),
          .A = view_of<ConstMatrixView>(required(A, "A"), "A"),
          .B = view_of<ConstMatrixView>(required(B, "B"), "B"),
          .C = c,
          .D = view_of<MatrixView>(required(D, "D"), "D"),
          .epilogue = epilogue_of(epilogue)};
}

GemmOptions options_of(const lapidary_options* given) {
  GemmOptions options;
  const lapidary_options known = known_of(given);
  if (known.no_workspace)
    options.workspace_bytes = 0;
  else if (known.workspace_bytes > 0)
    options.workspace_bytes = known.workspace_bytes;
  options.batch_invariant = known.batch_invariant != 0;
  options.fast_accumulation = known.fast_accumulation != 0;
  if (known.kernel) options.kernel = known.kernel;
  if (known.table) options.table = known.table->choices;
  return options;
}

namespace {

/// Products of one problem.
struct ProductList {
  Problem problem;
  std::vector<Operands> operands;
};

/// @param asked  of each product, but for where its matrices are
ProductList products_of(Asked asked, const lapidary_list& list) {
  const bool reads_c = asked.beta.device || asked.beta.value != 0;
  const auto require_one = [](const char* name, std::int64_t count) {
    if (count != 1)
      throw Refusal(RefusalId::batch_matrices, std::string("there are ") + std::to_string(count) + " matrices " + name +
                                                   " for each product of the list; there must be 1");
  };
  require_one("A", asked.A.count);
  require_one("B", asked.B.count);
  require_one("C", asked.C.count);
  require_one("D", asked.D.count);
  if (asked.epilogue.residual) require_one("of the residual", asked.epilogue.residual->count);
  if (list.count < 0)
    throw Refusal(RefusalId::batch_count,
                  "the list is of " + std::to_string(list.count) + " products; there must be 0 or more");
  asked.A.data = asked.B.data = asked.C.data = asked.D.data = nullptr;
  if (list.count == 0) return {asked.product().problem, {}};
  required(list.A, "the array of addresses of A");
  required(list.B, "the array of addresses of B");
  if (reads_c) required(list.C, "the array of addresses of C, which is read as beta is not 0,");
  required(list.D, "the array of addresses of D");

  ProductList products;
  products.operands.reserve(static_cast<std::size_t>(list.count));
  for (std::int64_t i = 0; i < list.count; ++i) {
    asked.A.data = list.A[i];
    asked.B.data = list.B[i];
    if (reads_c) asked.C.data = list.C[i];
    asked.D.data = list.D[i];
    if (list.bias) asked.epilogue.bias_data = list.bias[i];
    if (list.residual && asked.epilogue.residual) asked.epilogue.residual->data = list.residual[i];
    const auto& [problem, operands] = library::of_product(i, [&] { return asked.product(); });
    if (i == 0) products.problem = problem;
    if (problem.in_place != products.problem.in_place)
      throw Refusal(RefusalId::in_place_address,
                    std::string("of product ") + std::to_string(i) + " of the list D is " +
                        (problem.in_place ? "C, of product 0 it is not" : "not C, of product 0 it is") +
                        "; it must be of all or of none");
    // One plan does all: it counts on no more than each of them has.
    for (int Alignments::*const of : {&Alignments::A, &Alignments::B, &Alignments::C, &Alignments::D})
      products.problem.aligned.*of = std::min(products.problem.aligned.*of, problem.aligned.*of);
    products.operands.push_back(operands);
  }
  return products;
}

void copy_text(char* to, std::size_t length, const std::string& text) {
  if (!to || length == 0) return;
  const std::size_t count = std::min(length - 1, text.size());
  std::memcpy(to, text.data(), count);
  to[count] = 0;
}

}  // namespace
}  // namespace lapidary::c_face

using namespace lapidary;
using namespace lapidary::c_face;

lapidary_status lapidary_gemm(lapidary_context* context, void* stream, float alpha, const lapidary_matrix* A,
                              const lapidary_matrix* B, float beta, const lapidary_matrix* C, const lapidary_matrix* D,
                              const lapidary_options* options) {
  return guarded([&] {
    Context& on = context_of(context);
    const Product product = asked(alpha, A, B, beta, C, D, options).product();
    const Stream where = stream_of(context, stream);
    on.run(on.plan(product.problem, options_of(options)), where, product.operands);
  });
}

lapidary_status lapidary_gemm_list(lapidary_context* context, void* stream, float alpha, const lapidary_matrix* A,
                                   const lapidary_matrix* B, float beta, const lapidary_matrix* C,
                                   const lapidary_matrix* D, const lapidary_options* options,
                                   const lapidary_list* list) {
  return guarded([&] {
    Context& on = context_of(context);
    const lapidary_list known = known_of(&required(list, "the list"));
    const ProductList products = products_of(asked(alpha, A, B, beta, C, D, options), known);
    const Stream where = stream_of(context, stream);
    on.run(on.plan(products.problem, options_of(options)), where, products.operands);
  });
}

lapidary_status lapidary_gemm_grouped(lapidary_context* context, void* stream, float alpha, const lapidary_matrix* A,
                                      const lapidary_matrix* B, float beta, const lapidary_matrix* C,
                                      const lapidary_matrix* D, const lapidary_options* options,
                                      const int64_t* group_ends, int64_t groups) {
  return guarded([&] {
    Context& on = context_of(context);
    const Asked asked_for = asked(alpha, A, B, beta, C, D, options);
    if (asked_for.has_epilogue())
      throw Refusal(RefusalId::groups_kind, "there are groups of products, and an epilogue is to follow; nothing may");
    const Product product = asked_for.groups({group_ends, groups});
    const Stream where = stream_of(context, stream);
    on.run(on.plan(product.problem, options_of(options)), where, product.operands);
  });
}

lapidary_status lapidary_explain(lapidary_context* context, float alpha, const lapidary_matrix* A,
                                 const lapidary_matrix* B, float beta, const lapidary_matrix* C,
                                 const lapidary_matrix* D, const lapidary_options* options, char* id, char* why,
                                 size_t length) {
  return guarded([&] {
    const Plan plan = context_of(context).plan(asked(alpha, A, B, beta, C, D, options).product().problem,
                                               options_of(options));
    copy_text(id, length, plan.id());
    copy_text(why, length, plan.why());
  });
}
