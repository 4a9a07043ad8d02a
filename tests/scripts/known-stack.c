// SPDX-License-Identifier: GPL-2.0-only
// known-stack.c: sync a file of one byte when told to, below functions of known names
//
// The system call is made here, not in the C library, and each function has its frame
// pointer: the stack is sync_it, on_request, main.

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) static long sync_it(int fd)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_fsync), "D"((long)fd)
			 : "rcx", "r11", "memory");
	return ret;
}

__attribute__((noinline)) long on_request(int fd)
{
	char byte;
	long ret;

	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	ret = sync_it(fd);
	/* Until the end of the input: who is gone has no names. */
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return ret;
}

int main(int argc, char **argv)
{
	int fd = open(argv[argc - 1], O_WRONLY | O_CREAT, 0644);

	if (fd < 0 || write(fd, "x", 1) != 1 || puts("ready") < 0 || fflush(stdout))
		return 1;
	return on_request(fd) != 0;
}
