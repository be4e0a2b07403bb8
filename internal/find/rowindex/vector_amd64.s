#include "textflag.h"

// func products256(dst *float32, query *int16, rows *int8, count, n int)
//
// dst[i] is the sum of query[k] * rows[i*n+k]; n is a multiple of 32. Two sums of eight 32-bit
// integers each take every other 16 numbers, so that an addition does not wait for the one before.
TEXT ·products256(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ query+8(FP), SI
	MOVQ rows+16(FP), BX
	MOVQ count+24(FP), CX
	MOVQ n+32(FP), DX

row:
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	XORQ  AX, AX

numbers:
	VPMOVSXBW (BX)(AX*1), Y2
	VPMOVSXBW 16(BX)(AX*1), Y3
	VPMADDWD  (SI)(AX*2), Y2, Y2
	VPMADDWD  32(SI)(AX*2), Y3, Y3
	VPADDD    Y2, Y0, Y0
	VPADDD    Y3, Y1, Y1
	ADDQ      $32, AX
	CMPQ      AX, DX
	JLT       numbers

	VPADDD       Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VCVTDQ2PS    X0, X0
	VMOVSS       X0, (DI)
	ADDQ         $4, DI
	ADDQ         DX, BX
	DECQ         CX
	JNZ          row
	VZEROUPPER
	RET
