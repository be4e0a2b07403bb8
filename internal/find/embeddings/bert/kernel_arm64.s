#include "textflag.h"

// Go's assembler does not have SMLAL: d, four sums of 32 bits, gets the products of the four lower
// (SMLAL) or upper (SMLAL2) values of 16 bits of n and m.
#define SMLAL(m, n, d) WORD $(0x0E608000 | m<<16 | n<<5 | d)
#define SMLAL2(m, n, d) WORD $(0x4E608000 | m<<16 | n<<5 | d)

// func tileNEON(sums *[32]int32, a *int16, aStride int, b *int16, pairs int)
//
// It computes the sums of 4 rows and 8 columns. V4r to V4r+3 are those of row r: two for each
// column, of the first and of the second values of its pairs.
TEXT ·tileNEON(SB), NOSPLIT, $0-40
	MOVD sums+0(FP), R0
	MOVD a+8(FP), R1
	MOVD aStride+16(FP), R2
	MOVD b+24(FP), R3
	MOVD pairs+32(FP), R4
	ADD R2<<1, R1, R5
	ADD R2<<1, R5, R6
	ADD R2<<1, R6, R7
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	VEOR V4.B16, V4.B16, V4.B16
	VEOR V5.B16, V5.B16, V5.B16
	VEOR V6.B16, V6.B16, V6.B16
	VEOR V7.B16, V7.B16, V7.B16
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
	VEOR V10.B16, V10.B16, V10.B16
	VEOR V11.B16, V11.B16, V11.B16
	VEOR V12.B16, V12.B16, V12.B16
	VEOR V13.B16, V13.B16, V13.B16
	VEOR V14.B16, V14.B16, V14.B16
	VEOR V15.B16, V15.B16, V15.B16

sum:
	VLD1 (R3), [V16.B16, V17.B16]
	ADD $128, R3
	VLD1R.P 4(R1), [V18.S4]
	VLD1R.P 4(R5), [V19.S4]
	VLD1R.P 4(R6), [V20.S4]
	VLD1R.P 4(R7), [V21.S4]
	SMLAL(18, 16, 0)
	SMLAL2(18, 16, 1)
	SMLAL(18, 17, 2)
	SMLAL2(18, 17, 3)
	SMLAL(19, 16, 4)
	SMLAL2(19, 16, 5)
	SMLAL(19, 17, 6)
	SMLAL2(19, 17, 7)
	SMLAL(20, 16, 8)
	SMLAL2(20, 16, 9)
	SMLAL(20, 17, 10)
	SMLAL2(20, 17, 11)
	SMLAL(21, 16, 12)
	SMLAL2(21, 16, 13)
	SMLAL(21, 17, 14)
	SMLAL2(21, 17, 15)
	SUBS $1, R4
	BNE sum

	VADDP V1.S4, V0.S4, V0.S4
	VADDP V3.S4, V2.S4, V1.S4
	VST1.P [V0.S4, V1.S4], 32(R0)
	VADDP V5.S4, V4.S4, V4.S4
	VADDP V7.S4, V6.S4, V5.S4
	VST1.P [V4.S4, V5.S4], 32(R0)
	VADDP V9.S4, V8.S4, V8.S4
	VADDP V11.S4, V10.S4, V9.S4
	VST1.P [V8.S4, V9.S4], 32(R0)
	VADDP V13.S4, V12.S4, V12.S4
	VADDP V15.S4, V14.S4, V13.S4
	VST1.P [V12.S4, V13.S4], 32(R0)
	RET
