#pragma once
#include <cublasLt.h>

namespace lapidary::bench {

/// The functions of cuBLASLt that are called here. The library is loaded when it is first asked for, so that the
/// program starts where there is none.
struct CublasLt {
#define LAPIDARY_FUNCTIONS_OF_CUBLASLT(function)                                                                \
  function(Create) function(Destroy) function(GetProperty) function(GetStatusString) function(Matmul)           \
      function(MatmulAlgoGetHeuristic) function(MatmulDescCreate) function(MatmulDescDestroy)                   \
          function(MatmulDescSetAttribute) function(MatmulPreferenceCreate) function(MatmulPreferenceDestroy)   \
              function(MatmulPreferenceSetAttribute) function(MatrixLayoutCreate) function(MatrixLayoutDestroy) \
                  function(MatrixLayoutSetAttribute)
#define LAPIDARY_MEMBER(name) decltype(&::cublasLt##name) name;
  LAPIDARY_FUNCTIONS_OF_CUBLASLT(LAPIDARY_MEMBER)
#undef LAPIDARY_MEMBER

  /// Null where there is no cuBLAS of the major version that the program was compiled with.
  static const CublasLt* loaded();
};

}  // namespace lapidary::bench
