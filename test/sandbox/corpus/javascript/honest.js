const answers = await Promise.all([1, 2, 3].map(async (n) => n ** 2));
const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("abc"));
console.log(new Uint8Array(digest).toHex(), new Intl.NumberFormat("de").format(1234.5));
export default { answers, sum: answers.reduce((sum, n) => sum + n, 0), at: new Date(0).toISOString() };
