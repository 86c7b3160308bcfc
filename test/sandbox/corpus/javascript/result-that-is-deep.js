let deep = [];
for (let level = 0; level < 4_000; level++) deep = level % 2 ? [deep] : { deep };
export default deep;
