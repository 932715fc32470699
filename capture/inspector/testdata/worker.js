// A Worker with one function that computes and one that allocates.
function spinTheWheel(rounds) {
  let x = 1;
  for (let i = 0; i < rounds; i++) x = Math.imul(x ^ i, 2654435761) >>> 3;
  return x;
}

function fillTheCart(items) {
  const cart = [];
  for (let i = 0; i < items; i++) cart.push({ item: i, name: "item " + i, tags: [i, i + 1] });
  return cart.length;
}

export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    console.log("a line that the inspector sends as an event");
    if (pathname === "/spin") return new Response(String(spinTheWheel(3_000_000)));
    return new Response(String(fillTheCart(20_000)));
  },
};
