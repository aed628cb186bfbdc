//! What routines return, and what whoever sees to it is asked for.

constants! {
    /// What a routine returns after an error, and when the kernel's limit for loops is used up.
    FAIL = -1;
    /// What a routine returns that wants the access to a shared table which `L_ACCESS_…` describe.
    SHARED = -3;
    /// What a routine `fast_…` returns that has done nothing: the library function of the prelude is to be called.
    GENERAL = -2;

    /// What `handler_verdict` returns for what is no verdict of any hook.
    NO_VERDICT = 255;

    // What a routine returns besides 0 (done) and FAIL.
    /// The frame has changed: go on at its site.
    DISPATCH = 1;
    /// Make the call that `L_CALL_…` describe.
    REQUEST = 2;
    /// The handler has returned.
    FINISHED = 3;
    /// The handler has ended with an error that nothing caught.
    FAILED = 4;
    /// Read the field with the key at `L_CALL_COUNT` (0: the length) of the packet object, event or structure at `L_CALL_FUNC`.
    OBJECT = 5;
    /// Do the arithmetic that `L_CALL_…` describe: operation in `L_CALL_WANT`, operands at `L_CALL_FUNC` and `L_CALL_COUNT`.
    SLOW = 6;
    /// Close the next variable after an error (`close_more`).
    CLOSE = 7;
    /// The handler of an error has returned (`handler_returned`).
    HANDLED = 8;
    /// An error has been caught: end the frame that did so (`finish_marker`).
    CAUGHT = 9;
    /// Assign the value at `L_CALL_DEST` to the field with the key at `L_CALL_COUNT` of such an object at `L_CALL_FUNC`.
    ASSIGN_OBJECT = 10;
    /// A coroutine has ended (`coroutine_ended`).
    ENDED = 11;

    // Accesses to shared tables. Reading stores the value, assigning takes it; `TRAVERSE` begins the traversal of the generic `for` whose
    // registers are at the place, `NEXT` stores the next key and value of the one whose state is at the key, `ANY` stores some key
    // and value, `AFTER` those behind the key, and `LENGTH` a border.
    ACCESS_READ = 0;
    ACCESS_WRITE = 1;
    ACCESS_TRAVERSE = 2;
    ACCESS_NEXT = 3;
    ACCESS_ANY = 4;
    ACCESS_AFTER = 5;
    ACCESS_LENGTH = 6;
    /// Before an assignment: what the handler holds of the entry gets ready to become ordinary tables (`T_LAST`).
    ACCESS_KEEP = 7;

    // A traversal of a shared table: the registers of its generic `for`, the traversal around it, then the keys that are still to
    // come, below. It ends when another one begins at the same registers or at lower ones.
    TRAVERSAL_PLACE = 0;
    TRAVERSAL_AROUND = 8;
    TRAVERSAL_SIZE = 16;

    // Errors without text so far: `text` (A) with the position of the call of a library function, or of the running function; about
    // argument A: problem B; about argument A: expected type B, value at C or 0; operand at A: attempt B, name C; values at A and B.
    FAULT_NONE = 0;
    FAULT_CALL = 1;
    FAULT_HERE = 2;
    FAULT_ARGUMENT = 3;
    FAULT_TYPE = 4;
    FAULT_OPERAND = 5;
    FAULT_ORDER = 6;
    /// The value at A of a loop's limit, step or initial value (B).
    FAULT_FOR = 7;

    /// Numbers of library functions that change frames.
    BUILTIN_PCALL = 0;
    BUILTIN_XPCALL = 1;
    BUILTIN_RESUME = 2;
    BUILTIN_YIELD = 3;
    BUILTIN_CALL_COROUTINE = 4;
    BUILTIN_CLOSE = 5;

    // Events, and objects of the packet; headers follow.
    OBJECT_EVENT = 0;
    OBJECT_PACKET = 1;
    OBJECT_ARGUMENT = 2;

    // Numbers of operations: ORDER TM in ltm.h.
    OPERATION_ADD = 6;
    OPERATION_SUB = 7;
    OPERATION_MUL = 8;
    OPERATION_MOD = 9;
    OPERATION_POW = 10;
    OPERATION_DIV = 11;
    OPERATION_IDIV = 12;
    OPERATION_BAND = 13;
    OPERATION_BOR = 14;
    OPERATION_BXOR = 15;
    OPERATION_SHL = 16;
    OPERATION_SHR = 17;
    OPERATION_UNM = 18;
    OPERATION_BNOT = 19;
}
