// The page works without this: a slider then has a button.
for (const field of document.querySelectorAll("[data-sends]")) {
  field.addEventListener("change", () => {
    const address = new URL(location.href);
    address.searchParams.set(field.name, "v" + field.value);
    location.assign(address);
  });
}
