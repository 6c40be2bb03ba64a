#pragma once
#include "lens/explanation.hpp"
#include "report/document.hpp"

namespace lapidary::pages {

/// What the problem is and what it takes at least.
report::Document work_page(const lens::Explanation& e);
/// Accesses to global memory by matrix, and to shared memory by source line.
report::Document memory_page(const lens::Explanation& e);
/// What nvcc made of the kernel, and how many blocks of it a multiprocessor holds.
/// @param accesses  also its mix of instructions and each access to memory, as written and as compiled
report::Document compiled_page(const lens::Explanation& e, bool accesses);
/// The predicted time and what it goes to, beside what was measured.
report::Document time_page(const lens::Explanation& e);
/// The card's own counters beside what the lens says they are.
report::Document counters_page(const lens::Explanation& e);

/// "addresses, counters and predicates in the loop of products: 23 integer instructions for 512 multiply-adds, ..."
std::string addresses_text(const model::AddressWork& work);
/// "1,048,576", or four digits of what is below 1000: "18.75"
std::string number_text(double value);
/// "175.6 us" or "2.79 ms"
std::string time_text(double seconds);
/// "12.2", of FLOP/s in TFLOP/s
std::string tflops_number(double flops);
/// "12.2 TFLOP/s"
std::string rate_text(const lens::Explanation& e, double seconds);

}  // namespace lapidary::pages
