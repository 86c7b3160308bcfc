export default "x".repeat(64 << 20);
