// SPDX-License-Identifier: GPL-2.0
/*
 * Stores of 64-bit programs on x86: MOV of a register or of an immediate of 32 bits to memory, 4 or
 * 8 bytes long. Compilers store a doorbell by these. No other store is decoded: not one of another
 * size or instruction, of a 32-bit program, or that a debugger steps or watches.
 *
 * A store is decoded only if it begins at the faulting address: a store that begins in the page
 * before faults at the first byte of our page. The program may change its text meanwhile. The
 * decoded copy only decides what is stored to a page to which the program may store anything, and
 * where the program goes on.
 */
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include <asm/processor-flags.h>
#include <asm/segment.h>

#include "../store.h"

/* The longest instruction that there is; those that are decoded have 12 bytes at most. */
#define GDA_INSN_BYTES	15

#define GDA_REX_MASK	0xf0
#define GDA_REX		0x40
#define GDA_REX_W	0x08		/* 8 bytes */
#define GDA_REX_R	0x04		/* the upper half of the registers */
#define GDA_REX_X	0x02		/* ... the same for an index register */
#define GDA_REX_B	0x01		/* ... a base */

#define GDA_MOV_REG	0x89		/* MOV r32/r64 to r/m32/r/m64 */
#define GDA_MOV_IMM	0xc7		/* MOV imm32 to r/m32/r/m64, if its register field is 0 */

/* A copy of the program's text, with zeroes after its end. */
struct gda_insn {
	u8 byte[GDA_INSN_BYTES];
	unsigned int n;			/* bytes that are there */
	unsigned int at;		/* ... and that were decoded */
	u8 rex;
	bool relative;			/* @address is relative to the end of the instruction */
	unsigned long address;		/* of the operand */
};

/* If the next page cannot be read, what is left of this one is enough. */
static bool gda_insn_read(struct gda_insn *insn, unsigned long ip)
{
	unsigned long left = PAGE_SIZE - offset_in_page(ip);

	*insn = (struct gda_insn){ .n = GDA_INSN_BYTES };
	if (!copy_from_user_nofault(insn->byte, (const void __user *)ip, insn->n))
		return true;
	if (left >= GDA_INSN_BYTES)
		return false;
	insn->n = left;
	return !copy_from_user_nofault(insn->byte, (const void __user *)ip, insn->n);
}

/* By number. */
static const u8 gda_insn_registers[] = {
	offsetof(struct pt_regs, ax), offsetof(struct pt_regs, cx), offsetof(struct pt_regs, dx),
	offsetof(struct pt_regs, bx), offsetof(struct pt_regs, sp), offsetof(struct pt_regs, bp),
	offsetof(struct pt_regs, si), offsetof(struct pt_regs, di), offsetof(struct pt_regs, r8),
	offsetof(struct pt_regs, r9), offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13), offsetof(struct pt_regs, r14),
	offsetof(struct pt_regs, r15),
};

static u64 gda_insn_register(const struct pt_regs *regs, unsigned int number)
{
	return *(const unsigned long *)((const u8 *)regs + gda_insn_registers[number]);
}

static u64 gda_insn_immediate(struct gda_insn *insn)
{
	s32 value;

	memcpy(&value, insn->byte + insn->at, sizeof(value));
	insn->at += sizeof(value);
	return (s64)value;
}

/* Decode an operand in memory. Return: its register field; negative if it is a register. */
static int gda_insn_operand(struct gda_insn *insn, const struct pt_regs *regs)
{
	u8 modrm = insn->byte[insn->at++], mod = modrm >> 6, base = modrm & 7, index = 4;
	bool based;

	if (mod == 3)
		return -1;
	if (base == 4) {
		u8 sib = insn->byte[insn->at++];

		base = sib & 7;
		index = (sib >> 3 & 7) | (insn->rex & GDA_REX_X ? 8 : 0);
		if (index != 4)
			insn->address = gda_insn_register(regs, index) << (sib >> 6);
	}
	based = mod || base != 5;
	insn->relative = !based && (modrm & 7) == 5;
	if (based)
		insn->address += gda_insn_register(regs, base | (insn->rex & GDA_REX_B ? 8 : 0));
	if (mod == 1)
		insn->address += (s8)insn->byte[insn->at++];
	else if (mod == 2 || !based)
		insn->address += gda_insn_immediate(insn);
	return modrm >> 3 & 7;
}

/* Return: how many bytes are stored; 0: it is another instruction. */
static unsigned int gda_insn_decode(struct gda_insn *insn, const struct pt_regs *regs, u64 *value)
{
	u8 opcode;
	int reg;

	if ((insn->byte[0] & GDA_REX_MASK) == GDA_REX)
		insn->rex = insn->byte[insn->at++];
	opcode = insn->byte[insn->at++];
	if (opcode != GDA_MOV_REG && opcode != GDA_MOV_IMM)
		return 0;
	reg = gda_insn_operand(insn, regs);
	if (reg < 0 || (opcode == GDA_MOV_IMM && reg))
		return 0;
	if (opcode == GDA_MOV_IMM)
		*value = gda_insn_immediate(insn);
	else
		*value = gda_insn_register(regs, reg | (insn->rex & GDA_REX_R ? 8 : 0));
	if (insn->at > insn->n)
		return 0;
	if (insn->relative)
		insn->address += regs->ip + insn->at;
	return insn->rex & GDA_REX_W ? sizeof(u64) : sizeof(u32);
}

/* Return: whether the program itself has faulted, and no debugger looks at each of its steps. */
static bool gda_store_plain(const struct vm_fault *vmf, const struct pt_regs *regs)
{
	const unsigned int flags = FAULT_FLAG_USER | FAULT_FLAG_WRITE | FAULT_FLAG_REMOTE;

	return (vmf->flags & flags) == (FAULT_FLAG_USER | FAULT_FLAG_WRITE) &&
	       regs->cs == __USER_CS && !(regs->flags & X86_EFLAGS_TF) && !current->ptrace;
}

bool gda_store_emulate(const struct vm_fault *vmf, void *page)
{
	struct pt_regs *regs = task_pt_regs(current);
	unsigned long offset = offset_in_page(vmf->real_address);
	struct gda_insn insn;
	unsigned int bytes;
	u64 value;

	if (!gda_store_plain(vmf, regs) || !gda_insn_read(&insn, regs->ip))
		return false;
	bytes = gda_insn_decode(&insn, regs, &value);
	if (!bytes || !IS_ALIGNED(offset, bytes) || insn.address != vmf->real_address)
		return false;
	/* every store is a release here, as the program's own would be: for a worker that polls */
	if (bytes == sizeof(u64))
		WRITE_ONCE(*(u64 *)(page + offset), value);
	else
		WRITE_ONCE(*(u32 *)(page + offset), (u32)value);
	regs->ip += insn.at;
	/*
	 * clear the flag of the faulting store, which would make the next instruction skip its
	 * breakpoint
	 */
	regs->flags &= ~X86_EFLAGS_RF;
	return true;
}
