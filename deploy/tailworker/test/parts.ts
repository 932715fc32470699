// The pure parts, for tests that call them directly.
export { interesting, record } from "../src/record";
export { excerpt, redact } from "../src/text";
export { namingObject } from "../src/overload";
