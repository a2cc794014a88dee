/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The cases that are written in words.
 */

#include "posix_cases.h"

/* Short hands for what many cases begin with. */
#define	FILE_A		"open 0 a wc 0644; write 0 hello; close 0; "
#define	USER		"as 1001 1001; "
#define	ROOT		"as 0 0; "

const struct script scripts[] = {
	/* Opening. */
	{ "open_creat", "open 0 a wc 0640; type a reg; mode a 0640; size a 0" },
	{ "open_creat_existing", FILE_A "open 0 a wc 0600; mode a 0644; "
	    "size a 5" },
	{ "open_excl", "open 0 a wcx 0600; close 0; EEXIST:open 0 a wcx" },
	{ "open_excl_symlink", "symlink nowhere a; EEXIST:open 0 a wcx; "
	    "type nowhere none" },
	{ "open_excl_dir", "mkdir a; EEXIST:open 0 a wcx" },
	{ "open_through_symlink", "symlink b a; open 0 a wc; type b reg" },
	{ "open_noent", "ENOENT:open 0 a r" },
	{ "open_noent_dir", "ENOENT:open 0 d/a wc" },
	{ "open_notdir", FILE_A "ENOTDIR:open 0 a/b wc" },
	{ "open_directory_flag", FILE_A "ENOTDIR:open 0 a d" },
	{ "open_dir_write", "mkdir d; EISDIR:open 0 d w" },
	{ "open_dir_rdwr", "mkdir d; EISDIR:open 0 d b" },
	{ "open_dir_read", "mkdir d; open 0 d r; EISDIR:read 0" },
	{ "open_dir_creat", "mkdir d; EISDIR:open 0 d rc" },
	{ "open_nofollow", FILE_A "symlink a l; ELOOP:open 0 l rn" },
	{ "open_loop", "symlink b a; symlink a b; ELOOP:open 0 a r" },
	{ "open_longest_name", "open 0 @255 wc; type @255 reg" },
	{ "open_too_long_name", "ENAMETOOLONG:open 0 @256 wc" },
	{ "open_trunc", FILE_A "open 0 a wt; size a 0" },
	{ "open_trunc_creat", FILE_A "open 0 a wct 0600; size a 0; "
	    "mode a 0644" },
	{ "open_trunc_times", FILE_A "tick; mark a; tick; open 0 a wt; "
	    "newer a cm" },
	{ "open_trunc_empty_times", "open 0 a wc; close 0; tick; mark a; "
	    "tick; open 0 a wt; newer a cm" },
	{ "open_creat_dir_times", "mkdir d; mark d; tick; open 0 d/a wc; "
	    "newer d cm" },
	{ "open_existing_dir_times", "mkdir d; open 0 d/a wc; mark d; tick; "
	    "open 0 d/a wc; newer d -" },
	{ "open_mode_000_creator", "open 0 a bc 0; write 0 x; pread 0 0 x" },
	{ "open_umask", "umask 027; open 0 a wc 0666; mode a 0640" },
	{ "open_umask_all", "umask 0777; open 0 a wc 0666; mode a 0" },
	{ "open_sticky_bit_file", "open 0 a wc 01644; mode a 01644" },
	{ "open_setuid_bit", "open 0 a wc 04755; mode a 04755" },
	{ "open_write_only_read", FILE_A "open 0 a w; EBADF:read 0" },
	{ "open_read_only_write", FILE_A "open 0 a r; EBADF:write 0 x" },
	{ "open_unlinked_stays", FILE_A "open 0 a b; unlink a; pread 0 0 "
	    "hello; pwrite 0 5 more; pread 0 0 hellomore; fnlink 0 0" },
	{ "open_fifo_nonblock_read", "mkfifo f; open 0 f k" },
	{ "open_fifo_nonblock_write", "mkfifo f; ENXIO:open 0 f wk" },
	{ "open_socket", "socket s; ENXIO:open 0 s r" },
	{ "open_sync", "open 0 a wcs; write 0 x; size a 1" },
	{ "open_dot", "open 0 . d" },
	{ "open_trailing_slash", FILE_A "ENOTDIR:open 0 a/ r" },

	/* Reading and writing. */
	{ "write_read", "open 0 a bc; write 0 hello; seek 0 0; read 0 hello; "
	    "read 0" },
	{ "write_extend", "open 0 a bc; pwrite 0 100 x; size a 101; "
	    "check 0 0 100 0; pread 0 100 x" },
	{ "write_overwrite", "open 0 a bc; write 0 hello; pwrite 0 1 E; "
	    "pread 0 0 hEllo" },
	{ "write_append", FILE_A "open 0 a wa; write 0 X; open 1 a r; "
	    "read 1 helloX" },
	{ "write_append_two", "open 0 a wac; open 1 a wa; write 0 a; "
	    "write 1 b; write 0 c; open 2 a r; read 2 abc" },
	{ "write_append_truncated", FILE_A "open 0 a wa; trunc a 2; "
	    "write 0 X; open 1 a r; read 1 heX" },
	{ "write_big", "open 0 a bc; fill 0 0 3000000 z; "
	    "check 0 0 3000000 z; size a 3000000" },
	{ "write_unaligned", "open 0 a bc; fill 0 1 70001 q; "
	    "check 0 1 70001 q; check 0 0 1 0" },
	{ "write_hole_then_fill", "open 0 a bc; fill 0 1000000 10 e; "
	    "fill 0 500000 10 m; check 0 0 500000 0; check 0 500000 10 m; "
	    "check 0 500010 499990 0; check 0 1000000 10 e" },
	{ "write_far", "open 0 a bc; pwrite 0 1099511627776 x; "
	    "size a 1099511627777; pread 0 1099511627776 x; sparse a" },
	{ "write_times", "open 0 a wc; mark a; tick; write 0 x; newer a cm" },
	{ "write_zero_bytes", FILE_A "open 0 a b; fill 0 0 0 x; size a 5" },
	{ "write_two_files", "open 0 a bc; open 1 b bc; write 0 A; write 1 B; "
	    "pread 0 0 A; pread 1 0 B" },
	{ "write_shared", "open 0 a bc; open 1 a r; write 0 now; read 1 now" },
	{ "write_after_rename", "open 0 a bc; rename a b; write 0 x; "
	    "size b 1" },
	{ "write_clears_setuid", "open 0 a wc 06777; close 0; chmod a 06777; "
	    USER "open 0 a w; write 0 x; mode a 0777" },
	{ "write_root_keeps_setuid", "open 0 a wc; chmod a 04755; write 0 x; "
	    "mode a 04755" },
	{ "read_at_end", FILE_A "open 0 a r; seek 0 5; read 0" },
	{ "read_past_end", FILE_A "open 0 a r; seek 0 100; read 0" },
	{ "read_hole", "open 0 a bc; ftrunc 0 8192; check 0 0 8192 0" },
	{ "read_dir", "mkdir d; open 0 d r; EISDIR:read 0" },
	{ "fsync", "open 0 a wc; write 0 x; fsync 0" },
	{ "fdatasync", "open 0 a wc; write 0 x; fdatasync 0" },
	{ "fsync_dir", "mkdir d; open 0 d r; fsync 0" },

	/* Truncating. */
	{ "trunc_shrink", FILE_A "trunc a 2; size a 2; open 0 a r; read 0 "
	    "he" },
	{ "trunc_grow", FILE_A "trunc a 100; size a 100; open 0 a r; "
	    "check 0 5 95 0; pread 0 0 hello" },
	{ "trunc_shrink_grow", FILE_A "trunc a 1; trunc a 5; open 0 a r; "
	    "check 0 1 4 0" },
	{ "trunc_same", FILE_A "tick; mark a; tick; trunc a 5; size a 5" },
	{ "trunc_noent", "ENOENT:trunc a 0" },
	{ "trunc_dir", "mkdir d; EISDIR:trunc d 0" },
	{ "trunc_negative", FILE_A "EINVAL:trunc a -1" },
	{ "trunc_denied", FILE_A USER "EACCES:trunc a 0" },
	{ "trunc_read_only_file_root", FILE_A "chmod a 0444; trunc a 0" },
	{ "trunc_times", FILE_A "tick; mark a; tick; trunc a 3; newer a cm" },
	{ "trunc_symlink", FILE_A "symlink a l; trunc l 1; size a 1; "
	    "type l lnk" },
	{ "trunc_clears_setuid", "open 0 a wc; close 0; chmod a 04777; " USER
	    "trunc a 10; mode a 0777" },
	{ "ftrunc_shrink", FILE_A "open 0 a b; ftrunc 0 1; fsize 0 1" },
	{ "ftrunc_grow", FILE_A "open 0 a b; ftrunc 0 70000; fsize 0 70000; "
	    "check 0 5 69995 0" },
	{ "ftrunc_read_only", FILE_A "open 0 a r; EINVAL:ftrunc 0 1" },
	{ "ftrunc_after_chmod", FILE_A "open 0 a w; chmod a 0; " USER
	    "ftrunc 0 1; " ROOT "size a 1" },
	{ "ftrunc_unlinked", FILE_A "open 0 a b; unlink a; ftrunc 0 2; "
	    "fsize 0 2" },
	{ "ftrunc_huge", "open 0 a wc; ftrunc 0 1099511627776; "
	    "size a 1099511627776; sparse a" },

	/* Directories. */
	{ "mkdir", "mkdir d 0750; type d dir; mode d 0750; nlink d 2; ls d" },
	{ "mkdir_exists", "mkdir d; EEXIST:mkdir d" },
	{ "mkdir_exists_file", FILE_A "EEXIST:mkdir a" },
	{ "mkdir_exists_symlink", "symlink x l; EEXIST:mkdir l" },
	{ "mkdir_noent", "ENOENT:mkdir d/e" },
	{ "mkdir_notdir", FILE_A "ENOTDIR:mkdir a/b" },
	{ "mkdir_umask", "umask 077; mkdir d 0777; mode d 0700" },
	{ "mkdir_long", "mkdir @255; ENAMETOOLONG:mkdir @256" },
	{ "mkdir_parent_nlink", "mkdir d; nlink d 2; mkdir d/e; nlink d 3; "
	    "rmdir d/e; nlink d 2" },
	{ "mkdir_parent_times", "mkdir d; mark d; tick; mkdir d/e; "
	    "newer d cm" },
	{ "mkdir_setgid_inherits", "mkdir d; chown d 0 77; chmod d 02775; "
	    "mkdir d/e 0755; owner d/e 0 77; mode d/e 02755" },
	{ "mkdir_denied", "mkdir d 0755; " USER "EACCES:mkdir d/e" },
	{ "mkdir_owner", "mkdir d 0777; " USER "mkdir d/e; owner d/e 1001 "
	    "1001" },
	{ "mkdir_dot", "EEXIST:mkdir ." },
	{ "mkdir_dotdot", "mkdir d; EEXIST:mkdir d/.." },
	{ "mkdir_trailing_slash", "mkdir d/; type d dir" },
	{ "mkdir_deep", "mkdir a; mkdir a/b; mkdir a/b/c; mkdir a/b/c/d; "
	    "type a/b/c/d dir" },
	{ "rmdir", "mkdir d; rmdir d; type d none" },
	{ "rmdir_noent", "ENOENT:rmdir d" },
	{ "rmdir_notempty", "mkdir d; open 0 d/a wc; ENOTEMPTY:rmdir d" },
	{ "rmdir_notempty_dir", "mkdir d; mkdir d/e; ENOTEMPTY:rmdir d" },
	{ "rmdir_file", FILE_A "ENOTDIR:rmdir a" },
	{ "rmdir_symlink", "mkdir d; symlink d l; ENOTDIR:rmdir l" },
	{ "rmdir_dot", "mkdir d; EINVAL:rmdir d/." },
	{ "rmdir_dotdot", "mkdir d; mkdir d/e; ENOTEMPTY:rmdir d/e/.." },
	{ "rmdir_denied", "mkdir d 0755; mkdir d/e 0777; " USER
	    "EACCES:rmdir d/e" },
	{ "rmdir_sticky", "mkdir d 01777; chmod d 01777; mkdir d/e 0777; "
	    USER "EPERM:rmdir d/e" },
	{ "rmdir_parent_times", "mkdir d; mkdir d/e; mark d; tick; "
	    "rmdir d/e; newer d cm" },
	{ "rmdir_cwd", "mkdir d; chdir d; rmdir ../d; ENOENT:open 0 a wc; "
	    "ENOENT:mkdir e" },
	{ "rmdir_open", "mkdir d; open 0 d r; rmdir d; fnlink 0 0" },
	{ "rmdir_recreate", "mkdir d; open 0 d/a wc; unlink d/a; rmdir d; "
	    "mkdir d; ls d" },
	{ "ls_empty", "mkdir d; ls d" },
	{ "ls_many", "mkdir d; mkdir d/a; open 0 d/b wc; symlink x d/c; "
	    "mkfifo d/e; socket d/f; ls d a,b,c,e,f" },
	{ "ls_after_unlink", "mkdir d; open 0 d/a wc; open 1 d/b wc; "
	    "unlink d/a; ls d b" },
	{ "ls_after_rename", "mkdir d; open 0 d/a wc; rename d/a d/z; "
	    "ls d z" },
	{ "ls_denied", "mkdir d 0311; " USER "EACCES:ls d" },
	{ "ls_file", FILE_A "ENOTDIR:ls a" },

	/* Unlinking. */
	{ "unlink", FILE_A "unlink a; type a none; ENOENT:unlink a" },
	{ "unlink_noent", "ENOENT:unlink a" },
	{ "unlink_notdir", FILE_A "ENOTDIR:unlink a/b" },
	{ "unlink_dir", "mkdir d; EISDIR:unlink d; type d dir" },
	{ "unlink_symlink", FILE_A "symlink a l; unlink l; type a reg" },
	{ "unlink_dangling", "symlink nowhere l; unlink l; type l none" },
	{ "unlink_fifo", "mkfifo f; unlink f; type f none" },
	{ "unlink_socket", "socket s; unlink s; type s none" },
	{ "unlink_hard_link", FILE_A "link a b; unlink a; nlink b 1; "
	    "open 0 b r; read 0 hello" },
	{ "unlink_hard_link_ctime", FILE_A "link a b; mark b; tick; "
	    "unlink a; newer b c" },
	{ "unlink_parent_times", "mkdir d; open 0 d/a wc; mark d; tick; "
	    "unlink d/a; newer d cm" },
	{ "unlink_denied", "mkdir d 0755; open 0 d/a wc 0666; " USER
	    "EACCES:unlink d/a" },
	{ "unlink_read_only_file", "mkdir d 0777; open 0 d/a wc 0444; " USER
	    "unlink d/a" },
	{ "unlink_sticky", "mkdir d; chmod d 01777; open 0 d/a wc 0666; "
	    USER "EPERM:unlink d/a" },
	{ "unlink_sticky_own", "mkdir d; chmod d 01777; " USER
	    "open 0 d/a wc; unlink d/a" },
	{ "unlink_long", "open 0 @255 wc; unlink @255; "
	    "ENAMETOOLONG:unlink @256" },
	{ "unlink_recreate", FILE_A "unlink a; open 0 a wc; size a 0" },
	{ "unlink_open_twice", FILE_A "open 0 a r; open 1 a w; unlink a; "
	    "write 1 J; pread 0 0 Jello" },
	{ "unlink_open_stat", FILE_A "open 0 a r; unlink a; fnlink 0 0; "
	    "fsize 0 5" },
	{ "unlink_open_chmod", FILE_A "open 0 a r; unlink a; fchmod 0 0600" },
	{ "unlink_open_new", FILE_A "open 0 a r; unlink a; open 1 a bc; "
	    "write 1 new; read 0 hello; fnlink 1 1" },
	{ "unlink_dot", "EISDIR:unlink ." },

	/* Hard links. */
	{ "link", FILE_A "link a b; same a b; nlink a 2; nlink b 2" },
	{ "link_exists", FILE_A "open 0 b wc; EEXIST:link a b" },
	{ "link_exists_symlink", FILE_A "symlink x b; EEXIST:link a b" },
	{ "link_noent", "ENOENT:link a b" },
	{ "link_noent_dir", FILE_A "ENOENT:link a d/b" },
	{ "link_dir", "mkdir d; EPERM:link d e" },
	{ "link_symlink", "symlink x l; link l m; type m lnk; readlink m x" },
	{ "link_fifo", "mkfifo f; link f g; type g fifo; nlink f 2" },
	{ "link_other_dir", FILE_A "mkdir d; link a d/b; same a d/b" },
	{ "link_write_through", FILE_A "link a b; open 0 b w; write 0 J; "
	    "open 1 a r; read 1 Jello" },
	{ "link_chmod_through", FILE_A "link a b; chmod b 0600; mode a "
	    "0600" },
	{ "link_ctime", FILE_A "tick; mark a; tick; link a b; newer a c" },
	{ "link_parent_times", FILE_A "mkdir d; mark d; tick; link a d/b; "
	    "newer d cm" },
	{ "link_many", FILE_A "link a b; link a c; link b d; link d e; "
	    "nlink a 5; unlink a; unlink c; nlink e 3" },
	{ "link_denied", "mkdir d 0755; open 0 a wc 0666; " USER
	    "EACCES:link a d/b" },
	{ "link_rename_same", FILE_A "link a b; rename a b; type a reg; "
	    "type b reg; nlink a 2" },
	{ "link_unlinked_open", FILE_A "open 0 a r; unlink a; "
	    "ENOENT:linkfd 0 b" },
	{ "link_long", FILE_A "link a @255; ENAMETOOLONG:link a @256" },
	{ "link_notdir", FILE_A "ENOTDIR:link a a/b" },

	/* Symbolic links. */
	{ "symlink", "symlink target l; type l lnk; readlink l target; "
	    "size l 6" },
	{ "symlink_absolute", "symlink /etc/passwd l; readlink l "
	    "/etc/passwd" },
	{ "symlink_dots", "symlink ../../../.. l; readlink l ../../../.." },
	{ "symlink_exists", FILE_A "EEXIST:symlink x a" },
	{ "symlink_noent", "ENOENT:symlink x d/l" },
	{ "symlink_long_target", "symlink @1000 l; size l 1000; "
	    "readlink l @1000" },
	{ "symlink_longest_target", "symlink @4095 l; readlink l @4095" },
	{ "symlink_mode", "umask 077; symlink x l; mode l 0777" },
	{ "symlink_owner", "mkdir d 0777; " USER "symlink x d/l; "
	    "owner d/l 1001 1001" },
	{ "symlink_lchown", "symlink x l; lchown l 5 6; owner l 5 6" },
	{ "symlink_lutime", "symlink x l; lutime l 11.5 22.7; mtime l 22.7; "
	    "atime l 11.5" },
	{ "symlink_follow", FILE_A "symlink a l; open 0 l r; read 0 hello" },
	{ "symlink_to_dir", "mkdir d; symlink d l; open 0 l/a wc; "
	    "type d/a reg" },
	{ "symlink_chain", FILE_A "symlink a 1; symlink 1 2; symlink 2 3; "
	    "open 0 3 r; read 0 hello" },
	{ "symlink_dangling_open", "symlink x l; ENOENT:open 0 l r" },
	{ "symlink_chmod_follows", FILE_A "symlink a l; chmod l 0600; "
	    "mode a 0600; mode l 0777" },
	{ "symlink_rename", "symlink x l; rename l m; readlink m x" },
	{ "symlink_readlink_file", FILE_A "EINVAL:readlink a x" },
	{ "symlink_readlink_dir", "mkdir d; EINVAL:readlink d x" },
	{ "symlink_parent_times", "mkdir d; mark d; tick; symlink x d/l; "
	    "newer d cm" },
	{ "symlink_long_name", "symlink x @255; "
	    "ENAMETOOLONG:symlink x @256" },

	/* Renaming. */
	{ "rename", FILE_A "rename a b; type a none; open 0 b r; read 0 "
	    "hello" },
	{ "rename_over", FILE_A "open 0 b wc; write 0 old; rename a b; "
	    "open 1 b r; read 1 hello; nlink b 1" },
	{ "rename_over_open", FILE_A "open 0 b bc; write 0 old; rename a b; "
	    "pread 0 0 old; fnlink 0 0" },
	{ "rename_self", FILE_A "rename a a; type a reg" },
	{ "rename_noent", "ENOENT:rename a b" },
	{ "rename_noent_dir", FILE_A "ENOENT:rename a d/b" },
	{ "rename_dir", "mkdir d; open 0 d/a wc; rename d e; type e/a reg; "
	    "type d none" },
	{ "rename_dir_over_empty", "mkdir d; open 0 d/a wc; mkdir e; "
	    "rename d e; ls e a" },
	{ "rename_dir_over_full", "mkdir d; mkdir e; open 0 e/a wc; "
	    "ENOTEMPTY:rename d e" },
	{ "rename_dir_over_file", FILE_A "mkdir d; ENOTDIR:rename d a" },
	{ "rename_file_over_dir", FILE_A "mkdir d; EISDIR:rename a d" },
	{ "rename_dir_below_itself", "mkdir d; mkdir d/e; "
	    "EINVAL:rename d d/e/f" },
	{ "rename_to_other_dir", FILE_A "mkdir d; rename a d/b; ls d b; "
	    "type a none" },
	{ "rename_dir_to_other_dir", "mkdir d; mkdir e; mkdir d/x; "
	    "open 0 d/x/a wc; rename d/x e/y; type e/y/a reg; nlink d 2; "
	    "nlink e 3" },
	{ "rename_keeps_inode", FILE_A "link a z; rename a b; same b z" },
	{ "rename_open_stays", FILE_A "open 0 a b; rename a b; pwrite 0 0 J; "
	    "open 1 b r; read 1 Jello" },
	{ "rename_symlink_over", FILE_A "symlink x l; rename l a; "
	    "readlink a x" },
	{ "rename_over_symlink", FILE_A "open 0 t wc; symlink t l; "
	    "rename a l; type l reg; size t 0" },
	{ "rename_fifo", "mkfifo f; rename f g; type g fifo" },
	{ "rename_ctime_dirs", "mkdir d; mkdir e; open 0 d/a wc; mark d; "
	    "tick; rename d/a e/a; newer d cm" },
	{ "rename_ctime_to", "mkdir d; mkdir e; open 0 d/a wc; mark e; "
	    "tick; rename d/a e/a; newer e cm" },
	{ "rename_denied_from", "mkdir d 0755; open 0 d/a wc 0666; "
	    "mkdir e 0777; " USER "EACCES:rename d/a e/a" },
	{ "rename_denied_to", "mkdir d 0777; open 0 d/a wc 0666; "
	    "mkdir e 0755; " USER "EACCES:rename d/a e/a" },
	{ "rename_sticky", "mkdir d; chmod d 01777; open 0 d/a wc 0666; "
	    USER "EPERM:rename d/a d/b" },
	{ "rename_sticky_target", "mkdir d; chmod d 01777; "
	    "open 0 d/b wc 0666; " USER "open 1 d/a wc; "
	    "EPERM:rename d/a d/b" },
	{ "rename_dot", "mkdir d; EBUSY:rename d/. e" },
	{ "rename_dotdot", "mkdir d; mkdir d/e; EBUSY:rename d/e/.. x" },
	{ "rename_long", FILE_A "rename a @255; "
	    "ENAMETOOLONG:rename @255 @256" },
	{ "rename_notdir", FILE_A "ENOTDIR:rename a a/b" },
	{ "rename_chain", FILE_A "rename a b; rename b c; rename c d; "
	    "rename d a; open 0 a r; read 0 hello" },
	{ "rename_swap_by_hand", FILE_A "open 0 b wc; write 0 other; "
	    "rename a t; rename b a; rename t b; open 1 a r; read 1 other; "
	    "open 2 b r; read 2 hello" },
	{ "rename_deep", "mkdir a; mkdir a/b; mkdir a/b/c; "
	    "open 0 a/b/c/f wc; rename a z; open 1 z/b/c/f w; write 1 x; "
	    "size z/b/c/f 1" },
	{ "rename_noreplace", FILE_A "rename2 a b n; type b reg" },
	{ "rename_noreplace_exists", FILE_A "open 0 b wc; "
	    "EEXIST:rename2 a b n; type a reg" },
	{ "rename_exchange", FILE_A "mkdir d; rename2 a d x; type a dir; "
	    "type d reg" },
	{ "rename_exchange_dirs", "mkdir d; mkdir e; open 0 d/a wc; "
	    "rename2 d e x; ls e a; ls d" },
	{ "rename_exchange_noent", FILE_A "ENOENT:rename2 a b x" },
	{ "rename_both_flags", FILE_A "open 0 b wc; EINVAL:rename2 a b nx" },

	/* Special files. */
	{ "mkfifo", "mkfifo f 0640; type f fifo; mode f 0640" },
	{ "mkfifo_exists", FILE_A "EEXIST:mkfifo a" },
	{ "mkfifo_umask", "umask 022; mkfifo f 0666; mode f 0644" },
	{ "mkfifo_owner", "mkdir d 0777; " USER "mkfifo d/f; owner d/f 1001 "
	    "1001" },
	{ "mkfifo_denied", "mkdir d 0755; " USER "EACCES:mkfifo d/f" },
	{ "mknod_reg", "mknod a f 0644 0 0; type a reg; size a 0" },
	{ "mknod_fifo", "mknod a p 0644 0 0; type a fifo" },
	{ "mknod_socket", "mknod a s 0644 0 0; type a sock" },
	{ "mknod_char", "mknod a c 0644 1 3; type a chr; rdev a 1 3" },
	{ "mknod_block", "mknod a b 0644 7 200; type a blk; rdev a 7 200" },
	{ "mknod_big_minor", "mknod a c 0644 240 70000; rdev a 240 70000" },
	{ "mknod_denied", "mkdir d 0777; " USER "EPERM:mknod d/a c 0644 1 "
	    "3" },
	{ "mknod_exists", FILE_A "EEXIST:mknod a f 0644 0 0" },
	{ "socket", "socket s; type s sock" },
	{ "socket_exists", FILE_A "EADDRINUSE:socket a" },

	/* Modes. */
	{ "chmod", FILE_A "chmod a 0751; mode a 0751" },
	{ "chmod_all_bits", FILE_A "chmod a 07777; mode a 07777" },
	{ "chmod_none", FILE_A "chmod a 0; mode a 0; open 0 a r" },
	{ "chmod_dir", "mkdir d; chmod d 01700; mode d 01700" },
	{ "chmod_noent", "ENOENT:chmod a 0644" },
	{ "chmod_ctime", FILE_A "tick; mark a; tick; chmod a 0600; "
	    "newer a c" },
	{ "chmod_not_owner", FILE_A USER "EPERM:chmod a 0777" },
	{ "chmod_owner", FILE_A "chown a 1001 1001; " USER "chmod a 0600; "
	    "mode a 0600" },
	{ "chmod_setgid_not_in_group", FILE_A "chown a 1001 50; " USER
	    "chmod a 02755; mode a 0755" },
	{ "chmod_setgid_in_group", FILE_A "chown a 1001 50; "
	    "as 1001 1001 50; chmod a 02755; mode a 02755" },
	{ "chmod_fifo", "mkfifo f; chmod f 0600; mode f 0600" },
	{ "fchmod", FILE_A "open 0 a r; fchmod 0 0600; mode a 0600" },
	{ "fchmod_dir", "mkdir d; open 0 d r; fchmod 0 0711; mode d 0711" },
	{ "fchmod_unlinked", FILE_A "open 0 a r; unlink a; fchmod 0 0600" },
	{ "chmod_then_open", FILE_A "chmod a 0; " USER "EACCES:open 0 a r; "
	    ROOT "chmod a 0444; " USER "open 0 a r; EACCES:open 1 a w" },

	/* Owners. */
	{ "chown", FILE_A "chown a 5 6; owner a 5 6" },
	{ "chown_only_uid", FILE_A "chown a 5 -1; owner a 5 0" },
	{ "chown_only_gid", FILE_A "chown a -1 6; owner a 0 6" },
	{ "chown_neither", FILE_A "chown a -1 -1; owner a 0 0" },
	{ "chown_dir", "mkdir d; chown d 7 8; owner d 7 8" },
	{ "chown_ctime", FILE_A "tick; mark a; tick; chown a 5 6; "
	    "newer a c" },
	{ "chown_clears_setid", FILE_A "chmod a 06755; chown a 5 6; "
	    "mode a 0755" },
	{ "chown_dir_keeps_setgid", "mkdir d; chmod d 02755; chown d 5 6; "
	    "mode d 02755" },
	{ "chown_not_root", FILE_A "chown a 1001 1001; " USER
	    "EPERM:chown a 5 -1" },
	{ "chown_own_group", FILE_A "chown a 1001 1001; as 1001 1001 50; "
	    "chown a -1 50; owner a 1001 50" },
	{ "chown_foreign_group", FILE_A "chown a 1001 1001; " USER
	    "EPERM:chown a -1 50" },
	{ "chown_follows", FILE_A "symlink a l; chown l 5 6; owner a 5 6; "
	    "owner l 0 0" },
	{ "fchown", FILE_A "open 0 a r; fchown 0 5 6; owner a 5 6" },
	{ "lchown_file", FILE_A "lchown a 5 6; owner a 5 6" },
	{ "chown_noent", "ENOENT:chown a 1 1" },
	{ "create_group_of_dir", "mkdir d; chown d 0 77; chmod d 02777; "
	    USER "open 0 d/a wc 0644; owner d/a 1001 77" },
	{ "create_own_group", "mkdir d; chown d 0 77; chmod d 0777; " USER
	    "open 0 d/a wc 0644; owner d/a 1001 1001" },
	{ "create_setgid_stripped", "mkdir d; chown d 0 77; chmod d 02777; "
	    USER "open 0 d/a wc 02775; mode d/a 0775" },

	/* Permissions. */
	{ "perm_read", "open 0 a wc 0600; " USER "EACCES:open 1 a r" },
	{ "perm_group", "open 0 a wc 0640; chown a 0 50; as 1001 1001 50; "
	    "open 1 a r; EACCES:open 2 a w" },
	{ "perm_other", "open 0 a wc 0604; " USER "open 1 a r" },
	{ "perm_search", "mkdir d 0600; open 0 d/a wc 0666; " USER
	    "EACCES:open 1 d/a r" },
	{ "perm_search_only", "mkdir d 0711; open 0 d/a wc 0666; " USER
	    "open 1 d/a r; EACCES:ls d" },
	{ "perm_create", "mkdir d 0555; " USER "EACCES:open 0 d/a wc" },
	{ "perm_root_all", "open 0 a wc 0; open 1 a b" },
	{ "perm_open_keeps", FILE_A "chmod a 0666; " USER "open 0 a b; "
	    ROOT "chmod a 0; " USER "write 0 J; pread 0 0 Jello" },
	{ "access_root", "open 0 a wc 0; access a 6; EACCES:access a 1" },
	{ "access_user", "open 0 a wc 0644; " USER "access a 4; "
	    "EACCES:access a 2" },
	{ "access_exists", "open 0 a wc 0; access a 0; ENOENT:access b 0" },
	{ "access_exec", "open 0 a wc 0755; access a 1" },
	{ "exec_script", "open 0 a wc 0755; write 0 #!/bin/true; close 0; "
	    "exec a 0" },
	{ "exec_denied", "open 0 a wc 0644; write 0 #!/bin/true; close 0; "
	    "EACCES:exec a" },
	{ "exec_dir", "mkdir d; EACCES:exec d" },

	/* Times. */
	{ "utime", FILE_A "utime a 100.5 200.7; atime a 100.5; "
	    "mtime a 200.7" },
	{ "utime_nanoseconds", FILE_A "utime a 1.123456789 2.987654321; "
	    "atime a 1.123456789; mtime a 2.987654321" },
	{ "utime_omit", FILE_A "utime a 1.1 2.2; utime a omit 3.3; "
	    "atime a 1.1; mtime a 3.3" },
	{ "utime_omit_both", FILE_A "utime a 1.1 2.2; utime a omit omit; "
	    "atime a 1.1; mtime a 2.2" },
	{ "utime_now", FILE_A "utime a 1.1 2.2; mark a; tick; "
	    "utime a now now; newer a cm" },
	{ "utime_before_epoch", FILE_A "utime a -5 -7; mtime a -7" },
	{ "utime_after_2038", FILE_A "utime a 4000000000 5000000000; "
	    "mtime a 5000000000" },
	{ "utime_ctime", FILE_A "utime a 1 1; mark a; tick; utime a 1 1; "
	    "newer a c" },
	{ "utime_dir", "mkdir d; utime d 5.5 6.6; mtime d 6.6" },
	{ "utime_denied", FILE_A USER "EPERM:utime a 1 1" },
	{ "utime_now_writer", "open 0 a wc 0666; " USER "utime a now now" },
	{ "utime_now_denied", FILE_A USER "EACCES:utime a now now" },
	{ "utime_noent", "ENOENT:utime a 1 1" },
	{ "utime_follows", FILE_A "symlink a l; utime l 3 4; mtime a 4" },
	{ "futime", FILE_A "open 0 a r; futime 0 3.3 4.4; mtime a 4.4" },
	{ "time_write_keeps_atime", FILE_A "utime a 9.9 8.8; open 0 a w; "
	    "write 0 x; close 0; atime a 9.9" },
	{ "time_chmod_keeps_mtime", FILE_A "utime a 9 8; chmod a 0600; "
	    "mtime a 8" },

	/* Space. */
	{ "falloc", "open 0 a bc; falloc 0 - 0 65536; size a 65536; "
	    "blocks a 65536; check 0 0 65536 0" },
	{ "falloc_keep_size", "open 0 a bc; falloc 0 k 0 65536; size a 0; "
	    "blocks a 65536" },
	{ "falloc_extend", FILE_A "open 0 a b; falloc 0 - 100 100; "
	    "size a 200; pread 0 0 hello" },
	{ "falloc_punch", "open 0 a bc; fill 0 0 65536 x; "
	    "falloc 0 kp 4096 8192; check 0 0 4096 x; check 0 4096 8192 0; "
	    "check 0 12288 53248 x; size a 65536" },
	{ "falloc_punch_part", "open 0 a bc; fill 0 0 8192 x; "
	    "falloc 0 kp 100 50; check 0 100 50 0; check 0 150 100 x; "
	    "check 0 0 100 x" },
	{ "falloc_zero", "open 0 a bc; fill 0 0 16384 x; "
	    "falloc 0 z 4096 4096; check 0 4096 4096 0; check 0 0 4096 x" },
	{ "falloc_zero_extend", "open 0 a bc; fill 0 0 4096 x; "
	    "falloc 0 z 0 8192; size a 8192; check 0 0 8192 0" },
	{ "falloc_collapse", "open 0 a bc; fill 0 0 4096 a; fill 0 4096 4096 "
	    "b; fill 0 8192 4096 c; falloc 0 c 4096 4096; size a 8192; "
	    "check 0 0 4096 a; check 0 4096 4096 c" },
	{ "falloc_insert", "open 0 a bc; fill 0 0 4096 a; fill 0 4096 4096 "
	    "b; falloc 0 i 4096 4096; size a 12288; check 0 4096 4096 0; "
	    "check 0 8192 4096 b" },
	{ "falloc_bad", "open 0 a bc; EINVAL:falloc 0 - 0 0; "
	    "EINVAL:falloc 0 - -1 5" },
	{ "falloc_read_only", FILE_A "open 0 a r; EBADF:falloc 0 - 0 10" },
	{ "falloc_times", "open 0 a bc; mark a; tick; falloc 0 - 0 100; "
	    "newer a cm" },
	{ "seek_data_hole", "open 0 a bc; ftrunc 0 1048576; "
	    "fill 0 524288 4096 x; data 0 0 524288; hole 0 524288 528384; "
	    "hole 0 0 0" },
	{ "seek_hole_end", "open 0 a bc; fill 0 0 4096 x; hole 0 0 4096" },
	{ "seek_data_none", "open 0 a bc; ftrunc 0 8192; ENXIO:data 0 0 0" },
	{ "seek_past_end", FILE_A "open 0 a r; ENXIO:data 0 10 0; "
	    "ENXIO:hole 0 10 0" },
	{ "copy_range", "open 0 a bc; fill 0 0 100000 x; open 1 b bc; "
	    "copy 0 0 1 0 100000 100000; check 1 0 100000 x" },
	{ "copy_range_part", "open 0 a bc; write 0 0123456789; open 1 b bc; "
	    "copy 0 3 1 5 4 4; pread 1 5 3456; size b 9" },
	{ "copy_range_end", "open 0 a bc; write 0 01234; open 1 b bc; "
	    "copy 0 3 1 0 100 2; size b 2" },
	{ "copy_range_past_end", FILE_A "open 0 a r; open 1 b bc; "
	    "copy 0 9 1 0 5 0" },
	{ "copy_range_same_file", "open 0 a bc; fill 0 0 4096 x; "
	    "open 1 a b; copy 0 0 1 8192 4096 4096; check 1 8192 4096 x" },
	{ "copy_range_overlap", "open 0 a bc; fill 0 0 8192 x; open 1 a b; "
	    "EINVAL:copy 0 0 1 100 4096 0" },
	{ "copy_range_read_only", FILE_A "open 0 a r; open 1 b rc; "
	    "EBADF:copy 0 0 1 0 5 0" },
	{ "tmpfile", "mkdir d; tmpfile 0 d 0644; write 0 x; fsize 0 1; "
	    "fnlink 0 0; ls d" },
	{ "tmpfile_link", "mkdir d; tmpfile 0 d 0640; write 0 hello; "
	    "linkfd 0 d/a; ls d a; nlink d/a 1; open 1 d/a r; read 1 "
	    "hello; mode d/a 0640" },
	{ "statfs", "statfs ." },
	{ "statx", FILE_A "statx a; statx ." },

	/* Extended attributes. */
	{ "xattr", FILE_A "setx a user.one 1; getx a user.one 1" },
	{ "xattr_replace", FILE_A "setx a user.x 1; setx a user.x 22; "
	    "getx a user.x 22" },
	{ "xattr_create_flag", FILE_A "setx a user.x 1 c; "
	    "EEXIST:setx a user.x 2 c; getx a user.x 1" },
	{ "xattr_replace_flag", FILE_A "ENODATA:setx a user.x 1 r; "
	    "setx a user.x 1; setx a user.x 2 r; getx a user.x 2" },
	{ "xattr_missing", FILE_A "ENODATA:getx a user.x 1" },
	{ "xattr_remove", FILE_A "setx a user.x 1; rmx a user.x; "
	    "ENODATA:getx a user.x 1; ENODATA:rmx a user.x" },
	{ "xattr_list", FILE_A "setx a user.b 1; setx a user.a 2; "
	    "setx a user.c 3; listx a user.a,user.b,user.c" },
	{ "xattr_list_empty", FILE_A "listx a" },
	{ "xattr_dir", "mkdir d; setx d user.x 1; getx d user.x 1; "
	    "listx d user.x" },
	{ "xattr_symlink", "symlink x l; EPERM:setx l user.x 1" },
	{ "xattr_fifo", "mkfifo f; EPERM:setx f user.x 1" },
	{ "xattr_long_value", FILE_A "setx a user.x @3000; "
	    "getx a user.x @3000" },
	{ "xattr_ctime", FILE_A "tick; mark a; tick; setx a user.x 1; "
	    "newer a c" },
	{ "xattr_rename", FILE_A "setx a user.x 1; rename a b; "
	    "getx b user.x 1" },
	{ "xattr_link", FILE_A "setx a user.x 1; link a b; "
	    "getx b user.x 1" },
	{ "xattr_trunc", FILE_A "setx a user.x 1; trunc a 0; "
	    "getx a user.x 1" },
	{ "xattr_denied", FILE_A USER "EACCES:setx a user.x 1" },
	{ "xattr_namespace", FILE_A "EOPNOTSUPP:setx a nonsense 1" },
	{ "xattr_trusted", FILE_A "setx a trusted.x 1; getx a trusted.x 1; "
	    "rmx a trusted.x" },
	{ "xattr_trusted_denied", FILE_A "chmod a 0666; " USER
	    "EPERM:setx a trusted.x 1" },
	{ "xattr_empty_value", FILE_A "setx a user.x @0; getx a user.x @0" },
	{ "acl_access", FILE_A "acl a a 1001; hasacl a a 44; mode a 0660" },
	{ "acl_grants", "open 0 a wc 0600; acl a a 1001; " USER
	    "open 1 a b" },
	{ "acl_other_denied", "open 0 a wc 0600; acl a a 1002; " USER
	    "EACCES:open 1 a r" },
	{ "acl_chmod_mask", FILE_A "acl a a 1001; chmod a 0600; mode a 0600; "
	    USER "EACCES:open 0 a r" },
	{ "acl_default", "mkdir d; acl d d 1001; open 0 d/a wc 0666; "
	    "hasacl d/a a 44; mode d/a 0660" },
	{ "acl_default_ignores_umask", "mkdir d; acl d d 1001; umask 077; "
	    "open 0 d/a wc 0666; mode d/a 0660" },
	{ "acl_default_mkdir", "mkdir d; acl d d 1001; mkdir d/e 0777; "
	    "hasacl d/e d 44" },
	{ "acl_none", FILE_A "ENODATA:hasacl a a 0" },

	/* Locks that one process can see. */
	{ "flock_exclusive", "open 0 a wc; open 1 a w; flock 0 x; "
	    "EAGAIN:flock 1 x" },
	{ "flock_shared", "open 0 a wc; open 1 a w; flock 0 s; flock 1 s" },
	{ "flock_shared_exclusive", "open 0 a wc; open 1 a w; flock 0 s; "
	    "EAGAIN:flock 1 x" },
	{ "flock_unlock", "open 0 a wc; open 1 a w; flock 0 x; flock 0 u; "
	    "flock 1 x" },
	{ "flock_close", "open 0 a wc; open 1 a w; flock 0 x; close 0; "
	    "tick; flock 1 x" },
	{ "flock_upgrade", "open 0 a wc; flock 0 s; flock 0 x" },
	{ "flock_dir", "mkdir d; open 0 d r; open 1 d r; flock 0 x; "
	    "EAGAIN:flock 1 s" },
	{ "lock_own", "open 0 a bc; lock 0 w 0 10; lock 0 w 5 10; "
	    "lock 0 u 0 0" },
	{ "lock_read_only_write", FILE_A "open 0 a r; EBADF:lock 0 w 0 1" },
	{ "lock_write_only_read", FILE_A "open 0 a w; EBADF:lock 0 r 0 1" },
	{ "lock_flock_independent", "open 0 a bc; open 1 a b; flock 0 x; "
	    "lock 1 w 0 0" },
	{ NULL, NULL }
};
