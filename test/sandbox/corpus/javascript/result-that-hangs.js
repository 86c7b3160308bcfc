export default {
  get endless() {
    for (;;);
  },
};
