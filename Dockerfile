# The page and the command line on a CPU, as a user without privileges.
#
#   docker build -t epir .
#   docker run --rm -p 127.0.0.1:7860:7860 epir                      # the page
#   docker run --rm -v "$PWD:/data" epir predict clip.mp4 --out why  # the command line, on the files of this folder
#
# On Linux the index of your pip may offer torch with CUDA only, which is gigabytes: PyTorch has an index of builds for
# the CPU; give its address with --build-arg PIP_EXTRA_INDEX_URL=...
FROM python:3.11-slim

ARG PIP_EXTRA_INDEX_URL=""
ENV OMP_NUM_THREADS=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONUNBUFFERED=1

WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir -c constraints.txt '.[web,onnx]' \
 && useradd --create-home --uid 1000 epir \
 && install -d -o epir /data

USER 1000
WORKDIR /data
EXPOSE 7860
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/static/icon.svg')"]
ENTRYPOINT ["epir"]
CMD ["serve", "--host", "0.0.0.0"]
