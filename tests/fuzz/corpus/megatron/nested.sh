srun bash -c "python pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Ett|ttL"
cat <<EOF
#SBATCH -N 4
EOF
