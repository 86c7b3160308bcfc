const key = await crypto.subtle.importKey("raw", new Uint8Array(16), "PBKDF2", false, ["deriveBits"]);
const derive = () => crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-512", salt: new Uint8Array(16), iterations: 2_000_000_000 }, key, 512);
await Promise.all(Array.from({ length: 64 }, derive));
