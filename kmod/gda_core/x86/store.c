// SPDX-License-Identifier: GPL-2.0
/*
 * Stores of 64-bit programs on x86: MOV of a register or of an immediate of 32 bits to memory, 4 or
 * 8 bytes long. That is how compilers store a doorbell. Any other store is not decoded: another
 * size or instruction, one of a 32-bit program, one that a debugger steps or watches.
 *
 * The store begins where the fault is, or it is not decoded: one that begins in the page before
 * faults at the first byte of ours. The program may change its text meanwhile. What is decoded is a
 * copy, and it decides what is stored to a page that the program may store anything to, and where
 * the program goes on.
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
#define GDA_REX_X	0x02		/* ... of those that are an index */
#define GDA_REX_B	0x01		/* ... a base */

#define GDA_MOV_REG	0x89		/* MOV r32/r64 to r/m32/r/m64 */
#define GDA_MOV_IMM	0xc7		/* MOV imm32 to r/m32/r/m64, if its register field is 0 */

/* A copy of the program's text, zeroes behind its end. */
struct gda_insn {
	u8 byte[GDA_INSN_BYTES];
	unsigned int n;			/* bytes that are there */
	unsigned int at;		/* ... and that were decoded */
	u8 rex;
	bool relative;			/* @address is from the end of the instruction */
	unsigned long address;		/* of the operand */
};

/* What is left of a page is enough, where the next one cannot be read. */
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

/* Decode an operand in memory. Return: its register field; negative: it is a register. */
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

/* Return: the bytes that are stored, or 0: it is another instruction. */
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

/* The program has faulted itself, and nobody looks at each of its steps. */
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
	/* any store is a release here, as the program's own would be: for a worker that polls */
	if (bytes == sizeof(u64))
		WRITE_ONCE(*(u64 *)(page + offset), value);
	else
		WRITE_ONCE(*(u32 *)(page + offset), (u32)value);
	regs->ip += insn.at;
	/* of the store that faulted: else a breakpoint at the next one would be passed over */
	regs->flags &= ~X86_EFLAGS_RF;
	return true;
}
